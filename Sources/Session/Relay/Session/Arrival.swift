import Admission
import RelayCore

/// A client that is admitted: what its ``Newcomer`` begins with, what it has asked for by its upgrade, and the choice
/// of its dialect. Its link has it until its session begins, or the one that the client resumes has come, so that no
/// session keeps it for life. On the link's loop only.
final class Arrival {
    /// Nil: another gateway has passed the client on, which may only resume a session.
    let permit: SessionPermit?
    let request: SessionRequest
    /// About the target of `request`.
    let route: TargetDecision
    let settings: SessionSettings
    /// Counts among the gateway's sessions; nil once the newcomer has it.
    var globalLease: SessionLease?

    private var chooser: DialectChooser
    /// The dialect isn't known yet.
    private(set) var isUndecided: Bool
    /// The turn in which the wait for the client's first message was over.
    private var lastTurn: UInt64?
    /// When to look for that message again.
    private var lastLook: UInt64?

    init(_ admitted: Admitted, _ upgrade: Upgrade, _ settings: SessionSettings, now: UInt64) {
        permit = admitted.permit
        request = upgrade.session
        route = upgrade.route
        self.settings = settings
        globalLease = admitted.globalLease
        chooser = upgrade.chooser(settings.dialects, now: now)
        isUndecided = chooser.kind == nil
    }

    // MARK: The dialect

    /// The subprotocol, the query or a fixed default says it; nil: the client's first message, or the time.
    var dialect: DialectKind? { chooser.kind }

    /// When to call ``tick(now:turn:)``.
    var deadline: UInt64? { isUndecided ? lastLook ?? chooser.deadline : nil }

    /// Takes a piece of the client's first message.
    ///
    /// - Returns: the dialect, if the piece has decided it.
    func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) -> DialectKind? {
        isUndecided ? chooser.receive(piece, isText: isText, isLast: isLast) : nil
    }

    /// A delayed loop runs its timers before it reads its sockets, where a message that arrived in time may be waiting.
    /// The choice is therefore made one turn after the deadline.
    ///
    /// - Returns: the dialect, if the wait has decided it.
    func tick(now: UInt64, turn: UInt64) -> DialectKind? {
        guard isUndecided, let end = chooser.deadline, now >= end else { return nil }
        guard let lastTurn, lastTurn != turn else {
            self.lastTurn = turn
            lastLook = now + Self.oneTurn
            return nil
        }
        return chooser.tick(now: now)
    }

    private static var oneTurn: UInt64 { 1_000_000 }

    /// The dialect is known from here on.
    ///
    /// - Returns: what has come of the client's first message.
    func decided() -> (bytes: [UInt8], isText: Bool, isLast: Bool)? {
        isUndecided = false
        return chooser.takeHeldMessage()
    }
}
