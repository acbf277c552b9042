import Logging
import Synchronization

/// The logged events.
final class LogRecorder: Sendable {
    private let entries = Mutex<[(message: String, metadata: [String: String])]>([])

    func record(_ message: String, _ metadata: [String: String]) {
        entries.withLock { $0.append((message, metadata)) }
    }

    /// The metadata of each line with this message.
    func lines(of message: String) -> [[String: String]] {
        entries.withLock { entries in entries.filter { $0.message == message }.map(\.metadata) }
    }
}

struct RecordingLogHandler: LogHandler {
    private let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(_ recorder: LogRecorder) { self.recorder = recorder }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        recorder.record("\(event.message)", (event.metadata ?? [:]).mapValues { "\($0)" })
    }
}
