import DequeModule

/// What was sent to a session's client and is kept so that it can be sent again after the connection broke.
///
/// Every message has a number, its `seq`: numbers only rise, and what the client has seen is told by the last one that it saw.
/// The buffer keeps the newest messages, at most `maximumBytes` of payload together. Older ones are let go, and then a client
/// that comes back too late is told how much it misses: see ``Replay/gap``.
package struct ReplayBuffer<Message: Sendable>: Sendable {
    /// Sizes of messages that were let go, which make a gap's size exact. Beyond so many the oldest are added up.
    package static var maximumEvictedSizes: Int { 1_024 }

    package struct Entry: Sendable {
        package let seq: UInt64
        package let message: Message
        /// Payload bytes.
        package let size: Int
    }

    private struct Evicted {
        var seq: UInt64
        var size: Int
    }

    package let maximumBytes: Int
    private var entries = Deque<Entry>()
    private var evicted = Deque<Evicted>()
    /// Payload bytes that are kept.
    package private(set) var byteCount = 0

    package init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Keeps a message that is being sent. One that is larger than the whole buffer is let go at once.
    ///
    /// - Parameter seq: higher than all before.
    package mutating func append(_ message: Message, seq: UInt64, size: Int) {
        entries.append(Entry(seq: seq, message: message, size: size))
        byteCount += size
        while byteCount > maximumBytes, let oldest = entries.popFirst() {
            byteCount -= oldest.size
            noteEvicted(oldest)
        }
    }

    /// The client has seen everything up to `seq`: none of it will be asked for again.
    package mutating func acknowledge(through seq: UInt64) {
        while let oldest = entries.first, oldest.seq <= seq {
            byteCount -= oldest.size
            _ = entries.popFirst()
        }
        while let oldest = evicted.first, oldest.seq <= seq { _ = evicted.popFirst() }
    }

    /// What a client that has seen everything up to `lastSeq` is to be sent.
    ///
    /// - Parameter lastSeq: 0: it has seen nothing.
    package func replay(after lastSeq: UInt64) -> Replay<Message> {
        var gap: ReplayGap?
        for lost in evicted where lost.seq > lastSeq {
            gap = ReplayGap(fromSeq: lastSeq + 1, toSeq: lost.seq, bytes: (gap?.bytes ?? 0) + lost.size)
        }
        return Replay(gap: gap, entries: entries.filter { $0.seq > lastSeq })
    }

    private mutating func noteEvicted(_ entry: Entry) {
        evicted.append(Evicted(seq: entry.seq, size: entry.size))
        guard evicted.count > Self.maximumEvictedSizes, let oldest = evicted.popFirst() else { return }
        evicted[0].size += oldest.size
    }
}

/// The answer to a client that has come back.
package struct Replay<Message: Sendable>: Sendable {
    /// What is gone for good, before the first of `entries`; nil: nothing.
    package let gap: ReplayGap?
    /// In order.
    package let entries: [ReplayBuffer<Message>.Entry]
}

/// Messages that a client missed and can't have any more.
package struct ReplayGap: Hashable, Sendable {
    package let fromSeq: UInt64
    package let toSeq: UInt64
    /// Their payload together. Exact for the last ``ReplayBuffer/maximumEvictedSizes`` messages that were let go; from further back it
    /// may count what the client had seen.
    package let bytes: Int
}
