import Admission
import Reactors
import RelayCore

/// A client that resumes a session which another gateway may have.
extension ClientLink {
    /// Looks for a session that this gateway hasn't, unless another gateway has passed the client on. Input is held meanwhile.
    ///
    /// - Returns: false if it can't be anywhere else.
    func seekElsewhere(_ request: ResumeRequest, _ session: Session) -> Bool {
        guard session.permit != nil, let forwarding = session.settings.forwarding,
            SessionIdentity.isID(request.sessionID), session.dialectKind == .typed, !session.settings.drain.isDraining,
            !session.settings.drain.isHandingOver
        else { return false }
        holdForRemote(session)
        let here = LoopBound(self, to: loop)
        forwarding.find(request.sessionID) { found in
            here.loop.submit { here.value.found(found, request, forwarding) }
        }
        return true
    }

    private func found(_ found: Whereabouts, _ request: ResumeRequest, _ forwarding: SessionForwarding) {
        guard let session, resumption != nil else { return }
        switch found {
        case .unknown: remoteFailed(.expired)
        case .unavailable: remoteFailed(.unavailable)
        case .elsewhere where session.settings.drain.isDraining || session.settings.drain.isHandingOver:
            remoteFailed(.unavailable)
        case .elsewhere where !SessionToken.isText(request.token): remoteFailed(.invalid)
        case .elsewhere(let peer):
            // It holds itself until it is over.
            if RemoteSession(request, at: peer, for: self, session, forwarding) == nil { remoteFailed(.unavailable) }
        }
    }
}
