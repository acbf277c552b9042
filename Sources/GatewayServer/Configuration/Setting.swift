/// What the manual says about one setting. Loading, `check-config`, the example file's test and the documentation's
/// test all read these rows, so that none of them can disagree with the code.
package struct SettingRow: Sendable, Equatable {
    /// Of the environment variable.
    package let name: String
    package let group: SettingGroup
    /// As one would write it into the file; empty when nothing is set by default.
    package let defaultText: String
    /// Unit and range, or the values that may be chosen.
    package let values: String
    package let meaning: String
    /// Whether `serve` needs it.
    package var isRequired = false
    /// Whether its value is never shown. No setting is secret yet.
    package var isSecret = false
}

/// The sections of the example file, in its order.
package enum SettingGroup: String, Sendable, CaseIterable {
    case listener = "Listening"
    case target = "The service behind the gateway"
    case telnet = "Telnet"
    case dialects = "Client dialects"
    case tls = "TLS toward clients"
    case admission = "Who is admitted"
    case appAttest = "App Attest"
    case clientCertificates = "Client certificates"
    case keyStore = "Registered keys"
    case tickets = "Tickets and the web client"
    case proxies = "Proxies in front"
    case limits = "Limits of the gate"
    case connections = "Connections and HTTP"
    case session = "Sessions"
    case compression = "Compression toward clients"
    case resume = "Resuming a session"
    case traffic = "Rates of a session"
    case process = "Threads and shutdown"
    case logging = "Logs"
}

/// One setting: its row in the manual, and how its text becomes a value.
struct Setting<Value: Sendable>: Sendable {
    var row: SettingRow
    let defaultValue: Value
    let parse: @Sendable (String) throws(SettingProblem) -> Value
}

/// A text that isn't a value of its setting. Neither part repeats the text: it may be a secret one day.
struct SettingProblem: Error, Equatable {
    let problem: String
    let remedy: String
}

extension Setting where Value == Int {
    static func integer(
        _ name: String, _ group: SettingGroup, default defaultValue: Int, _ range: ClosedRange<Int>, _ unit: String,
        _ meaning: String
    ) -> Self {
        let values = "\(unit), \(range.lowerBound)–\(range.upperBound)"
        return Self(
            row: SettingRow(
                name: name, group: group, defaultText: String(defaultValue), values: values, meaning: meaning),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in try SettingGrammar.integer(text, in: range) })
    }
}

extension Setting where Value == Int? {
    /// A number that has no default, or one that the gateway derives from the machine when it is `0`.
    static func optionalInteger(
        _ name: String, _ group: SettingGroup, default defaultText: String = "", _ range: ClosedRange<Int>,
        _ unit: String, _ meaning: String
    ) -> Self {
        let values = "\(unit), \(range.lowerBound)–\(range.upperBound)"
        return Self(
            row: SettingRow(name: name, group: group, defaultText: defaultText, values: values, meaning: meaning),
            defaultValue: nil,
            parse: { (text: String) throws(SettingProblem) in
                let value = try SettingGrammar.integer(text, in: range)
                return value == 0 ? nil : value
            })
    }
}

extension Setting where Value == Int? {
    /// A limit that `0` lifts: nil is no limit.
    static func limit(
        _ name: String, _ group: SettingGroup, default defaultValue: Int, _ unit: String, _ meaning: String
    ) -> Self {
        let number = optionalInteger(
            name, group, default: String(defaultValue), 0...1_000_000_000, unit, meaning)
        return Self(row: number.row, defaultValue: defaultValue, parse: number.parse)
    }
}

extension Setting where Value == Bool {
    static func boolean(
        _ name: String, _ group: SettingGroup, default defaultValue: Bool, _ meaning: String
    ) -> Self {
        Self(
            row: SettingRow(
                name: name, group: group, defaultText: String(defaultValue), values: "`true` or `false`",
                meaning: meaning),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in try SettingGrammar.boolean(text) })
    }
}

extension Setting where Value: CaseIterable & RawRepresentable<String> {
    /// - Parameter ignoresCase: for names that are written in either case where they come from; the values are lower-case then.
    static func choice(
        _ name: String, _ group: SettingGroup, default defaultValue: Value, ignoresCase: Bool = false, _ meaning: String
    ) -> Self {
        let values = Value.allCases.map { "`" + $0.rawValue + "`" }.joined(separator: ", ")
        return Self(
            row: SettingRow(
                name: name, group: group, defaultText: defaultValue.rawValue, values: values, meaning: meaning),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in
                guard let value = Value(rawValue: ignoresCase ? text.lowercased() : text) else {
                    throw SettingProblem(problem: "has an unknown value", remedy: "Choose one of \(values).")
                }
                return value
            })
    }
}

extension Setting {
    /// A text with a grammar of its own.
    static func text(
        _ name: String, _ group: SettingGroup, default defaultValue: Value, _ defaultText: String = "",
        _ values: String, _ meaning: String,
        _ parse: @escaping @Sendable (String) throws(SettingProblem) -> Value
    ) -> Self {
        Self(
            row: SettingRow(name: name, group: group, defaultText: defaultText, values: values, meaning: meaning),
            defaultValue: defaultValue, parse: parse)
    }

    /// The same setting, but `serve` doesn't start without it.
    func required() -> Self {
        var copy = self
        copy.row.isRequired = true
        return copy
    }
}
