import RelayCore
import Testing

let second: UInt64 = 1_000_000_000
let kibibyte = 1_024

/// A state machine with its clock, so that a test reads as a protocol trace: an event, then the orders it brought.
struct Session {
    private(set) var machine: SessionStateMachine
    let limits: SessionLimits
    /// Not zero at the start: nothing may depend on the clock's epoch.
    var now = 1_000 * second

    init(limits: SessionLimits = SessionLimits()) {
        self.limits = limits
        machine = SessionStateMachine(limits: limits, now: now)
    }

    /// A session whose target has answered.
    static func open(limits: SessionLimits = SessionLimits()) -> Session {
        var session = Session(limits: limits)
        _ = session.targetConnected()
        return session
    }

    /// An open session that can be resumed.
    static func resumable(limits: SessionLimits = SessionLimits()) -> Session {
        var session = open(limits: limits)
        session.setResumable()
        return session
    }

    static func detached(limits: SessionLimits = SessionLimits()) -> Session {
        var session = resumable(limits: limits)
        _ = session.clientLost()
        return session
    }

    var reason: CloseReason { machine.closeReason }
    /// From now to the deadline, in nanoseconds; nil where there is none.
    var untilDeadline: UInt64? { machine.nextDeadline.map { $0 - now } }

    mutating func wait(_ nanoseconds: UInt64) { now += nanoseconds }

    mutating func clientSent(queued: Int) -> SessionActions { machine.clientSent(queued: queued, now: now) }
    mutating func clientHeard() { machine.clientHeard(now: now) }
    mutating func clientHeldBack(_ isHeldBack: Bool) { machine.clientHeldBack(isHeldBack, now: now) }
    mutating func clientClosed() -> SessionActions { machine.clientClosed(now: now) }
    mutating func clientLost() -> SessionActions { machine.clientLost(now: now) }
    mutating func clientAttached() -> SessionActions { machine.clientAttached(now: now) }
    mutating func clientRead(leaving queued: Int) { machine.clientRead(queued: queued, now: now) }
    mutating func clientDrained(to queued: Int, holdsMore: Bool = false) -> SessionActions {
        machine.clientDrained(queued: queued, holdsMore: holdsMore, now: now)
    }
    mutating func targetConnected() -> SessionActions { machine.targetConnected(now: now) }
    mutating func targetSent(queued: Int, holdsMore: Bool = false) -> SessionActions {
        machine.targetSent(queued: queued, holdsMore: holdsMore, now: now)
    }
    mutating func targetDrained(to queued: Int) -> SessionActions { machine.targetDrained(queued: queued, now: now) }
    mutating func targetFinished() -> SessionActions { machine.targetFinished(now: now) }
    mutating func targetClosed(_ reason: CloseReason? = nil) -> SessionActions {
        machine.targetClosed(reason, now: now)
    }
    mutating func close(_ reason: CloseReason) -> SessionActions { machine.close(reason, now: now) }
    mutating func setResumable() { machine.setResumable() }
    mutating func shutDown() -> SessionActions { close(.shuttingDown) }
    mutating func tick() -> SessionActions { machine.tick(now: now) }
}

extension SessionActions: CustomTestStringConvertible {
    public var testDescription: String {
        let names: [(SessionActions, String)] = [
            (.pauseClient, "pauseClient"), (.resumeClient, "resumeClient"), (.pauseTarget, "pauseTarget"),
            (.resumeTarget, "resumeTarget"), (.sendPing, "sendPing"), (.finishTarget, "finishTarget"),
            (.dropTarget, "dropTarget"), (.closeClient, "closeClient"), (.dropClient, "dropClient"), (.end, "end"),
        ]
        return "[" + names.filter { contains($0.0) }.map(\.1).joined(separator: ", ") + "]"
    }
}
