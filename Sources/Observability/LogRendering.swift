import Glibc
import Logging

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
