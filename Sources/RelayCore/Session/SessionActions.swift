/// What the driver is to do after an event. A set, so that an event in the steady state allocates nothing.
///
/// The driver performs them in the order of declaration.
package struct SessionActions: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let pauseClient = SessionActions(rawValue: 1 << 0)
    package static let resumeClient = SessionActions(rawValue: 1 << 1)
    package static let pauseTarget = SessionActions(rawValue: 1 << 2)
    package static let resumeTarget = SessionActions(rawValue: 1 << 3)
    package static let sendPing = SessionActions(rawValue: 1 << 4)
    /// Write what is queued to the target, then FIN.
    package static let finishTarget = SessionActions(rawValue: 1 << 5)
    /// Close the target now.
    package static let dropTarget = SessionActions(rawValue: 1 << 6)
    /// Write what is queued to the client, then a Close frame with the machine's `closeReason`.
    package static let closeClient = SessionActions(rawValue: 1 << 7)
    /// End the client's connection now.
    package static let dropClient = SessionActions(rawValue: 1 << 8)
    /// Nothing is left: let go of the session.
    package static let end = SessionActions(rawValue: 1 << 9)
}

/// Why and with which code a session's WebSocket is closed (RFC 6455 §7.4; 1014 from the IANA registry).
package struct CloseReason: Hashable, Sendable {
    package let code: UInt16
    /// At most 123 bytes of UTF-8.
    package let text: String

    package static let targetClosed = CloseReason(code: 1000, text: "target closed the connection")
    package static let shuttingDown = CloseReason(code: 1001, text: "gateway is shutting down")
    package static let targetNotAllowed = CloseReason(code: 1008, text: "target is not allowed")
    package static let noTargetNamed = CloseReason(code: 1008, text: "no target was named in time")
    package static let targetUnreachable = CloseReason(code: 1014, text: "target is unreachable")
    package static let targetLost = CloseReason(code: 1014, text: "connection to the target was lost")
}
