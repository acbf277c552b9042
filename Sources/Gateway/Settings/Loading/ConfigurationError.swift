import Observability

/// One error of the configuration: its subject, the problem, and what to do.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where a value comes from.
    package enum Origin: Sendable, Equatable {
        case defaultValue
        case environment
        case file(path: String, line: Int)
    }

    /// The setting's name; nil when the error is about the file or one of its lines.
    package let setting: String?
    package let origin: Origin?
    /// Follows the name: "isn't a whole number".
    package let problem: String
    /// A sentence that says what to do.
    package let remedy: String

    package var description: String {
        "\(subject) \(problem)\(place). \(remedy)"
    }

    private var subject: String {
        if let setting { return EscapedText(setting).description }
        if case .file(_, let line) = origin, line > 0 { return "Line \(line)" }
        return "The environment file"
    }

    private var place: String {
        switch origin {
        case .file(let path, let line): line > 0 ? " (\(EscapedText(path)), line \(line))" : ""
        case .environment: " (environment)"
        case .defaultValue, nil: ""
        }
    }
}

/// All errors of a configuration.
package struct ConfigurationErrors: Error, Sendable, Equatable, CustomStringConvertible {
    /// Never empty.
    package let errors: [ConfigurationError]
    /// The warnings that were found with them.
    package let warnings: [ConfigurationWarning]

    /// One line for one error; for several a line with their number, and a list below it.
    package var description: String {
        guard errors.count > 1 else { return errors.map(\.description).joined() }
        return "the configuration has \(errors.count) errors:" + errors.map { "\n  - \($0)" }.joined()
    }
}

/// A setting that is dangerous, will stop working, or has no effect. Shown at every start.
package struct ConfigurationWarning: Sendable, Equatable, CustomStringConvertible {
    package let setting: String
    package let text: String
    /// It goes by the files alone. A reload knows what was before them, and says what is so instead.
    package var isGuess = false

    package var description: String {
        "\(setting): \(text)"
    }
}
