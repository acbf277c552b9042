import DequeModule

/// Payload sizes of numbered messages that were discarded, to compute the size of a gap.
///
/// Exact sums need single sizes only up to the client's last position before it left: it has missed all later messages
/// as a whole. So there is one entry for each message while the client is connected, and a single entry for all
/// messages after it left. If there are too many entries, the oldest are merged: a client that had seen only some of
/// the merged messages is told a size that is too large, never too small.
struct LostSizes: Codable, Sendable {
    static let maximumEntries = 1_024

    private struct Entry: Codable {
        /// The number of its last message.
        var seq: UInt64
        var bytes: UInt64
    }

    private var entries = Deque<Entry>()
    /// The number at which the client left; it hasn't seen later messages.
    private var leftAt: UInt64?

    /// - Parameter seq: higher than all before.
    mutating func append(seq: UInt64, bytes: Int) {
        if let leftAt, seq > leftAt, let last = entries.last, last.seq > leftAt {
            entries[entries.count - 1] = Entry(seq: seq, bytes: last.bytes + UInt64(bytes))
        } else {
            entries.append(Entry(seq: seq, bytes: UInt64(bytes)))
        }
        if entries.count > Self.maximumEntries { mergeOldest() }
    }

    /// Sizes before `seq` are only ever needed as a whole, for a client that has seen nothing.
    mutating func acknowledge(through seq: UInt64) {
        while entries.count > 1, entries[1].seq <= seq { mergeOldest() }
    }

    mutating func clientLeft(at seq: UInt64) {
        leftAt = seq
    }

    mutating func clientCame() {
        leftAt = nil
    }

    var entryCount: Int { entries.count }

    /// The bytes of all messages discarded after `seq`.
    func bytes(after seq: UInt64) -> UInt64 {
        entries.reduce(0) { $1.seq > seq ? $0 + $1.bytes : $0 }
    }

    private mutating func mergeOldest() {
        guard entries.count > 1, let oldest = entries.popFirst() else { return }
        entries[0].bytes += oldest.bytes
    }
}
