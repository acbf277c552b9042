import DequeModule

/// The newest messages to a session's client, kept so that they can be sent again after a lost connection.
///
/// The client reports its position by the last number that it saw, its `seq`. The buffer keeps at most `maximumBytes`
/// of payload and ``maximumMessages`` messages, since some have no payload. Older messages are discarded; a client that
/// comes back too late is told how much it misses: see ``Replay/gap``.
///
/// Payloads are stored consecutively in a ring that grows up to `maximumBytes`; after that a message allocates nothing.
struct ReplayBuffer: Sendable {
    /// The unit that a message's `seq` counts.
    enum Numbering: Hashable, Codable, Sendable {
        /// Messages, from 1: each has the next number.
        case messages
        /// Payload bytes: a message's number is that of its last byte; the first byte has number 1. A message without
        /// payload has the number of the byte before it.
        case bytes
    }

    /// `OUTPUT_BUFFER_BYTES`
    static let defaultMaximumBytes = 51_200
    /// The ring's initial size, and the message limit for small buffers.
    private static let leastRingBytes = 1_024
    private static let leastMessages = 64

    struct Record {
        var size: UInt32
        var kind: KeptMessage.Kind
    }

    let numbering: Numbering
    let maximumBytes: Int
    /// The last number assigned; 0: none yet.
    var seq: UInt64 = 0
    /// Payload bytes that are kept.
    private(set) var byteCount = 0
    /// The number of the last discarded message: the kept messages follow it without a gap.
    var letGo: UInt64 = 0

    var records = Deque<Record>()
    private var ring: [UInt8] = []
    /// The position of the oldest byte.
    private var head = 0
    var lost = LostSizes()

    /// - Parameter maximumBytes: 0: nothing is kept, and messages are only numbered.
    init(numbering: Numbering, maximumBytes: Int) {
        self.numbering = numbering
        self.maximumBytes = maximumBytes
    }

    /// A sixteenth of ``maximumBytes``, so that the list of messages can't become much larger than their payload.
    var maximumMessages: Int { max(Self.leastMessages, maximumBytes / 16) }

    var messageCount: Int { records.count }

    /// The memory allocated for payloads, in bytes.
    var ringCapacity: Int { ring.count }

    /// Keeps a message that is being sent. A message larger than the whole buffer is discarded at once.
    ///
    /// - Returns: its number.
    mutating func append(_ kind: KeptMessage.Kind, _ payload: ArraySlice<UInt8>) -> UInt64 {
        seq += step(payload.count)
        guard maximumBytes > 0 else {
            letGo = seq
            return seq
        }
        while byteCount > maximumBytes - payload.count || records.count >= maximumMessages, letGoOldest() {}
        if payload.count > maximumBytes {
            letGo = seq
            noteLost(payload.count)
        } else {
            write(payload)
            records.append(Record(size: UInt32(payload.count), kind: kind))
        }
        return seq
    }

    /// The client has seen everything up to `seq`, so it won't be requested again.
    mutating func acknowledge(through seq: UInt64) {
        while let oldest = records.first, letGo + step(Int(oldest.size)) <= seq { _ = letGoOldest() }
        lost.acknowledge(through: seq)
    }

    /// The client is gone: it hasn't seen messages discarded from here on.
    mutating func clientLeft() {
        lost.clientLeft(at: seq)
    }

    mutating func clientCame() {
        lost.clientCame()
    }

    /// The messages for a client that has seen everything up to `lastSeq`.
    ///
    /// - Parameter lastSeq: 0: it has seen nothing. A value beyond the last assigned number counts as that number.
    func replay(after lastSeq: UInt64) -> Replay {
        let seen = min(lastSeq, seq)
        var replay = Replay(gap: gap(after: seen), start: max(seen, letGo), messages: [])
        var position = letGo
        var offset = head
        for record in records {
            let before = position
            position += step(Int(record.size))
            if let skipped = skipped(of: record, from: before, to: position, seen: replay.start) {
                // Only the first message can have been seen in part.
                if replay.messages.isEmpty, record.size > 0, numbering == .bytes { replay.start = before + skipped }
                let payload = read(at: offset, count: Int(record.size)).dropFirst(Int(skipped))
                replay.messages.append(KeptMessage(kind: record.kind, seq: position, payload: payload))
            }
            offset += Int(record.size)
        }
        return replay
    }

    /// Whether a client that has seen everything up to `lastSeq` has a gap.
    func hasLost(after lastSeq: UInt64) -> Bool { min(lastSeq, seq) < letGo }

    /// The number of leading bytes of a message that the client has seen; nil: all of it.
    private func skipped(of record: Record, from before: UInt64, to position: UInt64, seen: UInt64) -> UInt64? {
        if position > seen { return record.kind == .text && numbering == .bytes ? max(before, seen) - before : 0 }
        // It is unknown whether a message without its own number was seen; sending it twice is harmless.
        return record.size == 0 && numbering == .bytes && position == seen ? 0 : nil
    }

    private func gap(after seen: UInt64) -> ReplayGap? {
        guard seen < letGo else { return nil }
        let bytes = numbering == .bytes ? letGo - seen : lost.bytes(after: seen)
        return ReplayGap(fromSeq: seen + 1, toSeq: letGo, bytes: bytes)
    }

    private func step(_ size: Int) -> UInt64 {
        numbering == .bytes ? UInt64(size) : 1
    }

    // MARK: Letting go

    private mutating func letGoOldest() -> Bool {
        guard let oldest = records.popFirst() else { return false }
        let size = Int(oldest.size)
        byteCount -= size
        head = byteCount == 0 ? 0 : (head + size) % ring.count
        letGo += step(size)
        noteLost(size)
        return true
    }

    private mutating func noteLost(_ size: Int) {
        if numbering == .messages { lost.append(seq: letGo, bytes: size) }
    }

    // MARK: The ring

    /// The kept payloads, in order.
    var payloads: ArraySlice<UInt8> { read(at: head, count: byteCount) }

    mutating func write(_ payload: ArraySlice<UInt8>) {
        grow(toHold: byteCount + payload.count)
        let tail = ring.isEmpty ? 0 : (head + byteCount) % ring.count
        let first = payload.prefix(ring.count - tail)
        let second = payload.dropFirst(first.count)
        ring.replaceSubrange(tail..<tail + first.count, with: first)
        ring.replaceSubrange(0..<second.count, with: second)
        byteCount += payload.count
    }

    private mutating func grow(toHold needed: Int) {
        guard ring.count < needed else { return }
        let size = min(maximumBytes, max(needed, 2 * ring.count, Self.leastRingBytes))
        var grown: [UInt8] = []
        grown.reserveCapacity(size)
        grown += read(at: head, count: byteCount)
        grown += repeatElement(0, count: size - byteCount)
        ring = grown
        head = 0
    }

    /// - Parameter offset: may lie beyond the ring's end; it wraps around.
    private func read(at offset: Int, count: Int) -> ArraySlice<UInt8> {
        guard count > 0 else { return [] }
        let start = offset % ring.count
        let first = ring[start..<min(start + count, ring.count)]
        return first.count == count ? first : Array(first + ring[..<(count - first.count)])[...]
    }
}

/// A numbered message to the client that can be sent again.
struct KeptMessage: Hashable, Sendable {
    enum Kind: UInt8, Hashable, Codable, Sendable {
        /// The payload is the target's text, valid UTF-8.
        case text
        /// An out-of-band message in its dialect's form.
        case package
        case prompt
        case echoSuppressed
        case echoShown

        var isEcho: Bool { self == .echoSuppressed || self == .echoShown }
    }

    let kind: Kind
    let seq: UInt64
    /// Empty for prompts and echoes.
    let payload: ArraySlice<UInt8>
}

/// The answer to a client that resumes.
struct Replay: Hashable, Sendable {
    /// The messages before the first of `messages` that are lost for good; nil: none.
    let gap: ReplayGap?
    /// The number before the first of `messages`.
    var start: UInt64
    /// In order.
    var messages: [KeptMessage]
}

/// Messages that a client missed and can't receive any more.
struct ReplayGap: Hashable, Sendable {
    let fromSeq: UInt64
    let toSeq: UInt64
    /// The sum of their payloads. Exact unless the client, when it left, was more than ``LostSizes/maximumEntries``
    /// discarded messages behind; then it may include messages that the client had seen.
    let bytes: UInt64
}
