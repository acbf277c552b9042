/// When a session has to act by itself, in addition to the deadlines of its state machine. Nanoseconds of the loop's
/// clock.
struct SessionDeadlines {
    /// When a client must have named its target.
    var connectBy: UInt64?
    var nextTicket: UInt64?
    /// When a side that has sent too much is read again.
    var readClient: UInt64?
    var readTarget: UInt64?
    /// When to look for the client's first message again.
    var lastLook: UInt64?
    /// When to ask the directory again for a session that is moving to another connection.
    var resume: UInt64?
    /// When the client is told of its session, whether other gateways find it or not.
    var announcement: UInt64?
    private var keepAlive: UInt64?

    /// - Parameter interval: nil: no keep-alive is sent.
    mutating func sentToTarget(at now: UInt64, keepAlive interval: UInt64?) {
        keepAlive = interval.map { now + $0 }
    }

    mutating func takeKeepAlive(_ now: UInt64) -> Bool { Self.take(&keepAlive, now) }
    mutating func takeTicket(_ now: UInt64) -> Bool { Self.take(&nextTicket, now) }
    mutating func takeConnect(_ now: UInt64) -> Bool { Self.take(&connectBy, now) }
    mutating func takeReadClient(_ now: UInt64) -> Bool { Self.take(&readClient, now) }
    mutating func takeResume(_ now: UInt64) -> Bool { Self.take(&resume, now) }
    mutating func takeAnnouncement(_ now: UInt64) -> Bool { Self.take(&announcement, now) }
    mutating func takeReadTarget(_ now: UInt64) -> Bool { Self.take(&readTarget, now) }

    func next(choosing: UInt64?) -> UInt64? {
        let reading = min(readClient ?? .max, readTarget ?? .max, resume ?? .max)
        let next = min(
            min(connectBy ?? .max, announcement ?? .max), nextTicket ?? .max,
            min(keepAlive ?? .max, lastLook ?? choosing ?? .max), reading)
        return next == .max ? nil : next
    }

    private static func take(_ deadline: inout UInt64?, _ now: UInt64) -> Bool {
        guard let reached = deadline, now >= reached else { return false }
        deadline = nil
        return true
    }
}

/// Why one side of a session isn't read.
struct ReadingPauses: OptionSet {
    let rawValue: UInt8

    /// The other side's queue is above its mark.
    static let queue = ReadingPauses(rawValue: 1)
    /// It has sent too much in too short a time.
    static let rate = ReadingPauses(rawValue: 2)
    /// The session that the client resumes is being moved.
    static let resuming = ReadingPauses(rawValue: 4)
    /// A lot of the client's input waits for a target that is being dialled.
    static let dialing = ReadingPauses(rawValue: 8)
    /// The target's output waits for a later turn of the loop.
    static let turn = ReadingPauses(rawValue: 16)
}

/// The traffic of a session, over all connections of its client.
struct SessionCounters: Codable {
    var bytesFromClient = 0
    var bytesToClient = 0
    /// Bytes of WebSocket frames as transferred: with headers, after compression.
    var frameBytesFromClient = 0
    var frameBytesToClient = 0
    /// On one of the connections permessage-deflate was agreed on.
    var isCompressed = false
    /// When the client last sent something for its target, by the loop's clock; 0: never.
    var inputAt: UInt64 = 0

    mutating func add(_ other: SessionCounters) {
        bytesFromClient += other.bytesFromClient
        bytesToClient += other.bytesToClient
        frameBytesFromClient += other.frameBytesFromClient
        frameBytesToClient += other.frameBytesToClient
        isCompressed = isCompressed || other.isCompressed
        inputAt = max(inputAt, other.inputAt)
    }
}
