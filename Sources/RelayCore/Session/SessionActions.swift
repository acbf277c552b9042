/// What the session is to do after an event. A set, so that an event in the steady state allocates nothing.
///
/// The session performs them in the order of declaration.
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
