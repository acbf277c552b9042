import Admission
import RelayCore

/// What a client has asked for by its upgrade: its session begins by it. Its link has it until the session is connected
/// to its target, or the one that the client resumes has come, so that no session keeps it for life.
final class Arrival {
    /// Nil: another gateway has passed the client on, which may only resume a session.
    let permit: SessionPermit?
    let request: SessionRequest
    /// About the target of `request`.
    let route: TargetDecision

    init(_ upgrade: Upgrade, _ permit: SessionPermit?) {
        self.permit = permit
        request = upgrade.session
        route = upgrade.route
    }

    /// - Returns: the target that the client means, and the decision about it where there is one already.
    func target(_ named: TargetRequest) -> (request: TargetRequest, decided: TargetDecision?) {
        named == .standard || named == request.target ? (request.target, route) : (named, nil)
    }
}
