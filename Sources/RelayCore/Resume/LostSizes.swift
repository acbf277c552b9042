import DequeModule

/// Payload sizes of numbered messages that were let go, so that a gap's size can be told.
///
/// Exact sums need each size only up to where the client may have been when it left: what was let go later it has missed as a whole. So
/// there is one entry a message while the client is there, and one for all that follow while it isn't. The oldest entries are
/// added up where there are too many: a client that had seen only part of those is told at most too much.
struct LostSizes: Sendable {
    static let maximumEntries = 1_024

    private struct Entry {
        /// Of its last message.
        var seq: UInt64
        var bytes: UInt64
    }

    private var entries = Deque<Entry>()
    /// Where the client left; nothing beyond it has been seen.
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

    /// What lies before `seq` is only ever asked for as a whole, by a client that has seen nothing.
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

    /// All that was let go behind `seq`.
    func bytes(after seq: UInt64) -> UInt64 {
        entries.reduce(0) { $1.seq > seq ? $0 + $1.bytes : $0 }
    }

    private mutating func mergeOldest() {
        guard entries.count > 1, let oldest = entries.popFirst() else { return }
        entries[0].bytes += oldest.bytes
    }
}
