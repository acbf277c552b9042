import Glibc
package import Logging

/// Writes each event as one line for people: `time LEVEL logger: message key=value key="a value"`.
///
/// Everything that isn't visible is escaped, and a value with a space, a quote or an equals sign is quoted, so that a
/// value can't pass for another field. Messages are fixed texts by convention; peer input belongs in a field. Safe from
/// any thread; see `LineOutput` for what blocks.
package struct TextLogHandler: LogHandler {
    /// Maximum bytes of a whole line; longer lines are cut.
    static let maximumBytes = JSONLine.maximumBytes

    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel: Logger.Level

    private let label: String
    private let output: LineOutput

    package init(label: String, level: Logger.Level, output: LineOutput = .standardError) {
        self.label = label
        self.logLevel = level
        self.output = output
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line = BoundedText(maximumBytes: Self.maximumBytes)
        _ = line.append("\(Timestamp.now()) \(Self.padded(event.level)) \(EscapedText(label)): ")
        _ = line.append(EscapedText(event.message.description).description)
        for (key, value) in LogFields(event: event, own: metadata, provider: metadataProvider).pairs {
            guard line.append(" \(Self.quoted(key))=\(Self.quoted(value))") else { break }
        }
        // A failure to write the log can't be logged.
        _ = output.write(line.text + "\n")
    }

    private static func padded(_ level: Logger.Level) -> String {
        let name = level.rawValue.uppercased()
        return name + String(repeating: " ", count: max(0, "CRITICAL".count - name.count))
    }

    /// Unchanged if it is unambiguous; otherwise in quotes, with inner quotes escaped.
    private static func quoted(_ text: String) -> String {
        let escaped = EscapedText(text).description
        let isPlain = !escaped.isEmpty && !escaped.unicodeScalars.contains { $0 == " " || $0 == "\"" || $0 == "=" }
        guard !isPlain else { return escaped }
        // By scalars: a quote followed by a combining mark is a different Character, but readers and parsers still see
        // a quote.
        var quoted = "\"".unicodeScalars
        for scalar in escaped.unicodeScalars {
            if scalar == "\"" { quoted.append("\\") }
            quoted.append(scalar)
        }
        quoted.append("\"")
        return String(quoted)
    }
}

/// What both log handlers share: fields of one event, flattened and in a fixed order.
struct LogFields {
    /// Maximum nesting of metadata; deeper values are printed as their description.
    static let maximumDepth = 4
    /// Maximum number of fields of one event; further ones are dropped.
    static let maximumCount = 64

    /// Name and value, sorted by name. A dictionary's keys are joined with a dot, an array's by position.
    private(set) var pairs: [(key: String, value: String)] = []

    /// Fields of the event take precedence over the handler's own, and those over the provider's.
    init(event: LogEvent, own: Logger.Metadata, provider: Logger.MetadataProvider?) {
        var merged = provider?.get() ?? [:]
        merged.merge(own) { _, new in new }
        merged.merge(event.metadata ?? [:]) { _, new in new }
        if let error = event.error { merged[LogKeys.error] = "\(error)" }
        for (key, value) in merged.sorted(by: { $0.key < $1.key }) {
            add(key, value, depth: 0)
        }
    }

    private mutating func add(_ key: String, _ value: Logger.Metadata.Value, depth: Int) {
        guard pairs.count < Self.maximumCount else { return }
        switch value {
        case .dictionary(let members) where depth < Self.maximumDepth:
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                add(key + "." + name, member, depth: depth + 1)
            }
        case .array(let elements) where depth < Self.maximumDepth:
            for (index, element) in elements.enumerated() {
                add(key + "." + String(index), element, depth: depth + 1)
            }
        default:
            pairs.append((key, value.description))
        }
    }
}

extension Timestamp {
    /// The wall clock, for a line that is about to be written.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(unixMilliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
