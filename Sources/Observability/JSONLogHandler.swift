package import Logging

/// Writes each event as one JSON object on one line, for machines.
///
/// `{"time":…,"level":…,"logger":…,"message":…, <fields>}`. A field with the name of one of these four, or a duplicate name, gets a leading
/// underscore: with a duplicate key, a later field could replace an earlier one in a parser. Safe from any thread; see `LineOutput` for
/// what blocks.
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
