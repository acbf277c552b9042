package import Logging
import WireText

/// Writes each event as one JSON object on one line, for machines.
///
/// `{"time":…,"level":…,"logger":…,"message":…, <fields>}`. A field with the name of one of these four, or a duplicate
/// name, gets a leading underscore: with a duplicate key, a later field could replace an earlier one in a parser. Safe
/// from any thread; see `LineOutput` for what blocks.
package struct JSONLogHandler: LogHandler {
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
        var line = JSONLine()
        line.add("time", Timestamp.now().description)
        line.add("level", event.level.rawValue)
        line.add("logger", label)
        line.add("message", event.message.description)
        var used: Set = ["time", "level", "logger", "message", "truncated"]
        for (key, value) in LogFields(event: event, own: metadata, provider: metadataProvider).pairs {
            var name = key
            while !used.insert(name).inserted { name = "_" + name }
            line.add(name, value)
        }
        // A failure to write the log can't be logged.
        _ = output.write(line.terminated())
    }
}

/// One JSON object on one line (RFC 8259), built key by key in insertion order.
///
/// Input can't break out of the line: everything invisible is escaped, beyond what JSON requires, so the log is safe on
/// a terminal too. Values are cut at `EscapedText.defaultMaximumBytes`. Keys that would make the object exceed
/// `maximumBytes` are left out, and `"truncated":true` is added.
struct JSONLine {
    /// Bytes of a whole line: enough for sixteen values at their limit.
    static let maximumBytes = 16_384

    private var writer = JSONWriter()
    private var isTruncated = false

    mutating func add(
        _ key: String, _ value: String, maximumBytes: Int = EscapedText.defaultMaximumBytes
    ) {
        add(key, json: Self.quoted(value, maximumBytes))
    }

    mutating func add(_ key: String, _ value: Int64) {
        add(key, json: Array(String(value).utf8))
    }

    /// The finished object with its newline.
    func terminated() -> String {
        var writer = writer
        if isTruncated { writer.member("truncated", true) }
        return String(decoding: writer.object, as: UTF8.self) + "\n"
    }

    private mutating func add(_ key: String, json: [UInt8]) {
        if !writer.member(escaped: Self.quoted(key), json: json, maximumBytes: Self.maximumBytes) { isTruncated = true }
    }

    private static func quoted(_ text: String, _ maximumBytes: Int = EscapedText.defaultMaximumBytes) -> [UInt8] {
        Array("\"\(escaped(text, maximumBytes))\"".utf8)
    }

    private static func escaped(_ text: String, _ maximumBytes: Int) -> String {
        guard !EscapedText.isPlain(text, maximumBytes: maximumBytes) || text.utf8.contains(UInt8(ascii: "\"")) else {
            return text
        }
        var writer = BoundedText(maximumBytes: maximumBytes)
        for scalar in text.unicodeScalars {
            guard writer.append(escaped(scalar)) else { break }
        }
        return writer.text
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"": return "\\\""
        case "\\": return "\\\\"
        case "\n": return "\\n"
        case "\r": return "\\r"
        case "\t": return "\\t"
        default: return EscapedText.inJSON(scalar)
        }
    }
}
