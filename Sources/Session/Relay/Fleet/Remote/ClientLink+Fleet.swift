import Admission
import Reactors
import RelayCore

/// A client that resumes a session which another gateway may have.
extension ClientLink {
    /// Looks for a session that this gateway hasn't, unless another gateway has passed the client on. Input is held
    /// meanwhile.
    ///
    /// - Returns: false if it can't be anywhere else.
    func seekElsewhere(_ request: ResumeRequest, _ newcomer: Newcomer) -> Bool {
        guard newcomer.arrival.permit != nil, let fleetRelay = sessions.fleetRelay,
            SessionIdentity.isID(request.sessionID), newcomer.dialectKind?.resumes == true
        else { return false }
        guard !newcomer.settings.drain.refusesNewcomers else {
            // Another gateway may have it, and passes the client on.
            remoteFailed(.unavailable)
            return true
        }
        holdForRemote(newcomer)
        let here = LoopBound(self, to: loop)
        fleetRelay.find(request.sessionID) { found in
            here.loop.submit { here.value.found(found, request, fleetRelay) }
        }
        return true
    }

    private func found(_ found: Whereabouts, _ request: ResumeRequest, _ fleetRelay: FleetRelay) {
        guard let newcomer, resumption != nil else { return }
        switch found {
        case .unknown: remoteFailed(.expired)
        case .unavailable: remoteFailed(.unavailable)
        case .elsewhere where newcomer.settings.drain.refusesNewcomers: remoteFailed(.unavailable)
        case .elsewhere(let peer): ask(peer, for: request, newcomer, fleetRelay)
        }
    }

    private func ask(
        _ peer: FleetPeer, for request: ResumeRequest, _ newcomer: Newcomer, _ fleetRelay: FleetRelay
    ) {
        let target = newcomer.arrival.request.target
        guard let request = RemoteRequest(request, target: target, dialect: newcomer.dialectKind) else {
            return remoteFailed(.invalid)
        }
        // It holds itself until it is over.
        guard let client = RemoteClient(client, by: sessions.gate.carrier),
            RemoteSession(
                request, of: client, at: peer, fleetRelay, settings: newcomer.settings, sessions: sessions, loop: loop,
                for: self) != nil
        else { return remoteFailed(.unavailable) }
    }
}

extension ClientLink: RemoteAsker {
    /// The newcomer isn't needed any more.
    func remoteAgreed(_ remote: RemoteSession, as principal: [UInt8]?) {
        guard let resumption = leaveNewcomer(for: remote) else { return remote.abandon() }
        remote.attach(to: self)
        for piece in resumption.held {
            piece.bytes.withUnsafeBytes { remote.clientSent($0, isText: piece.isText, isLast: piece.isLast) }
        }
    }

    func remoteFailed(_ failure: RemoteFailure) { remoteFailed(failure.ofResume) }
}
