/// What comes back from the gateway that an upgrade was passed on to: its answer, and the WebSocket's frames behind a 101.
///
/// It releases the answer whole, and then only whole frames: so a Close frame can follow whatever it has released, and a refusal of one's own can
/// replace an answer that didn't come.
package struct ForwardedAnswer: Sendable {
    /// Of the answer's header; a gateway's own answers are much shorter.
    package static let maximumHeadBytes = 16_384
    /// Of one frame: a gateway sends at most 16 KiB in one.
    package static let maximumFrameBytes = 65_536

    package enum Fault: Error, Hashable, Sendable {
        case malformedHead
        case headTooLong
        case frameTooLong
    }

    private enum Stage {
        case head
        /// Not a 101: all of it is for the client, to its end.
        case refusal
        case frames(FrameWalk)
    }

    private var stage = Stage.head
    /// Not released yet.
    private var held: [UInt8] = []
    /// Of the answer; nil while it isn't complete.
    package private(set) var status: Int?
    /// The size of the answer's header, with which the first released bytes begin.
    package private(set) var headBytes: Int?
    /// A Close frame was released: the other gateway ends the WebSocket.
    package private(set) var hasClosed = false
    /// A Close frame has begun.
    private var isClosing = false

    package init() {}

    package var isSwitched: Bool { status == 101 }

    package var heldBytes: Int { held.count }

    /// - Parameter bytes: the next ones from the other gateway.
    /// - Returns: what is for the client now.
    package mutating func take(_ bytes: some Collection<UInt8>) throws(Fault) -> [UInt8] {
        switch stage {
        case .head: return try takeHead(Array(bytes))
        case .refusal: return Array(bytes)
        case .frames(var walk): return try takeFrames(Array(bytes), &walk)
        }
    }

    private mutating func takeHead(_ bytes: [UInt8]) throws(Fault) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let from = max(held.count - 3, 0)
        held += bytes
        guard let end = Self.headEnd(held, from: from) else {
            guard held.count <= Self.maximumHeadBytes else { throw .headTooLong }
            return []
        }
        guard end <= Self.maximumHeadBytes else { throw .headTooLong }
        guard let status = Self.status(held) else { throw .malformedHead }
        self.status = status
        headBytes = end
        let head = Array(held[..<end])
        let rest = Array(held[end...])
        held = []
        guard status == 101 else {
            stage = .refusal
            return head + rest
        }
        var walk = FrameWalk()
        return head + (try takeFrames(rest, &walk))
    }

    private mutating func takeFrames(_ bytes: [UInt8], _ walk: inout FrameWalk) throws(Fault) -> [UInt8] {
        let progress = walk.advance(bytes.span)
        stage = .frames(walk)
        let wasClosing = isClosing
        isClosing = isClosing || progress.close != nil
        guard let boundary = progress.boundary else {
            held += bytes
            guard held.count <= Self.maximumFrameBytes else { throw .frameTooLong }
            return []
        }
        if wasClosing || progress.close.map({ $0 < boundary }) == true { hasClosed = true }
        let released = held + bytes[..<boundary]
        held = Array(bytes[boundary...])
        return released
    }

    private static func headEnd(_ bytes: [UInt8], from start: Int) -> Int? {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count >= end.count else { return nil }
        return (start...(bytes.count - end.count)).first { bytes[$0..<($0 + end.count)].elementsEqual(end) }
            .map { $0 + end.count }
    }

    /// RFC 9112 §4. An interim answer isn't one that a gateway gives to an upgrade.
    private static func status(_ bytes: [UInt8]) -> Int? {
        let version = Array("HTTP/1.1 ".utf8)
        guard bytes.starts(with: version), bytes.count > version.count + 3 else { return nil }
        let digits = bytes[version.count..<(version.count + 3)]
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return status == 101 || (200...599).contains(status) ? status : nil
    }
}
