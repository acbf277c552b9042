import Admission
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// A client that resumes its session.
///
/// The session is claimed where it is, handed off there, and adopted here. Between two loops this takes two jobs: one
/// claims it, one delivers it. Input from the client is held meanwhile.
extension ClientLink {
    /// While a session moves to one connection, another one has to wait: a move takes two turns of a loop.
    private static var maximumTries: Int { 100 }
    private static var retryNanoseconds: UInt64 { 10_000_000 }

    /// The client may have been admitted long ago: its credential must still be valid now.
    func resume(_ request: ResumeRequest) {
        guard let newcomer else { return }
        if let refusal = sessions.gate.recheck(client.principal, from: client.address, at: loop.moment) {
            newcomer.log(
                "resume refused", [LogKeys.reason: "\(refusal.code.rawValue)", LogKeys.detail: "\(refusal.detail)"])
            return fail(refusal.status >= 500 ? .unavailable : .invalid, newcomer)
        }
        ask(for: request, triesLeft: Self.maximumTries, newcomer)
    }

    func resumeAgain() {
        guard let retry = resumption?.retry, let newcomer else { return }
        resumption?.retry = nil
        ask(for: retry.request, triesLeft: retry.left, newcomer)
    }

    private func ask(for request: ResumeRequest, triesLeft: Int, _ newcomer: Newcomer) {
        // It may be on its way to another process, or be there. The client finds it when it comes back.
        guard !newcomer.settings.drain.isHandingOver else {
            fail(.unavailable, newcomer)
            return newcomer.current.close(.gatewayUpgrading)
        }
        let directory = newcomer.settings.directory
        switch directory.claim(request, by: client, at: loop.now) {
        case .unknown: if !seekElsewhere(request, newcomer) { fail(.expired, newcomer) }
        case .invalid: fail(.invalid, newcomer)
        case .underway where triesLeft == 0: fail(.unavailable, newcomer)
        case .underway:
            hold(newcomer)
            resumption?.retry = (request, triesLeft - 1)
            newcomer.askAgain(at: loop.now + Self.retryNanoseconds)
        case .claimed(let lease, let holder, let token):
            hold(newcomer)
            let identity = SessionIdentity(id: request.sessionID, token: token.text)
            let claim = SessionClaimant(
                lease: lease, dialect: newcomer.dialectKind, identity: identity, lastSeq: request.lastSeq,
                directory: directory)
            fetch(claim, from: holder)
        }
    }

    /// Input after the request is for the session.
    private func hold(_ newcomer: Newcomer) {
        resumption = resumption ?? Resumption()
        newcomer.holdClientBack(.resuming, true)
    }

    private func fetch(_ claim: SessionClaimant, from holder: SessionHolder) {
        guard holder.loop !== loop else { return handedOff(holder.handOff(to: loop, claim), claim) }
        let here = LoopBound(self, to: loop)
        holder.loop.submit {
            let outcome = holder.handOff(to: here.loop, claim)
            here.loop.submit { here.value.handedOff(outcome, claim) }
        }
    }

    // MARK: The answer

    private func handedOff(_ outcome: HandOff, _ claim: SessionClaimant) {
        switch outcome {
        case .session(let bound): adopt(bound.session, claim)
        case .refused(let failure): if let newcomer { fail(failure, newcomer) }
        }
    }

    /// Replaces the newcomer with the resumed session. If the client has left meanwhile, or is being closed, the
    /// session becomes detached, and the link keeps its newcomer.
    private func adopt(_ adopted: Session, _ claim: SessionClaimant) {
        let resumption = resumption ?? Resumption()
        let fresh = newcomer
        let hasClient = socket != nil && fresh?.machine.acceptsFromClient == true
        noteFrames()
        adopted.move(to: self, inPlaceOf: fresh)
        guard claim.directory.adopted(claim.lease, by: SessionHolder(adopted), detachedAt: hasClient ? nil : loop.now)
        else {
            adopted.endWithoutClient(.sessionEvicted)
            return fresh.map { fail(.expired, $0) } ?? ()
        }
        self.resumption = nil
        if hasClient, let fresh {
            adopted.attach(to: self, inPlaceOf: fresh, claim)
        } else {
            adopted.goOnWithoutClient(closeCode: resumption.closeCode)
        }
        if let reason = resumption.closeReason { adopted.close(reason) }
        deliver(resumption, to: adopted)
        if !hasClient { fresh?.endIfDue() }
    }

    private func fail(_ failure: ResumeFailure, _ newcomer: Newcomer) {
        let resumption = resumption ?? Resumption()
        self.resumption = nil
        newcomer.holdClientBack(.resuming, false)
        newcomer.resumeFailed(failure)
        if let reason = resumption.closeReason { newcomer.close(reason) }
        newcomer.endIfDue()
        deliver(resumption, to: newcomer)
    }

    // MARK: At another gateway

    func holdForRemote(_ newcomer: Newcomer) { hold(newcomer) }

    /// - Returns: nil if the client has left meanwhile, or is being closed.
    func leaveNewcomer(for remote: RemoteSession) -> Resumption? {
        guard let fresh = newcomer else { return nil }
        let resumption = resumption ?? Resumption()
        guard socket != nil, fresh.machine.acceptsFromClient, resumption.closeReason == nil else {
            fail(.unavailable, fresh)
            return nil
        }
        self.resumption = nil
        noteFrames()
        fresh.dismiss()
        arrival = nil
        self.remote = remote
        socket?.setReading(paused: false)
        return resumption
    }

    func remoteFailed(_ failure: ResumeFailure) {
        if let newcomer { fail(failure, newcomer) }
    }

    func remoteEnded(_ remote: RemoteSession) {
        if self.remote === remote { self.remote = nil }
    }

    /// What came meanwhile may have ended the session; each message may do so, too.
    private func deliver(_ resumption: Resumption, to stage: SessionStage) {
        for message in resumption.held where stage.current.machine.isUnderway {
            stage.current.receive(message.bytes[...], isText: message.isText, isLast: message.isLast)
        }
    }

    /// The pong to a ping sent after the new token: the client has that token. A pong to an earlier ping proves
    /// nothing, and only shortens the life of the previous token.
    func confirmToken(of stage: SessionStage) {
        guard awaitsConfirmation, let lease = stage.lease else { return }
        awaitsConfirmation = false
        stage.settings.directory.tokenConfirmed(lease, at: loop.now)
    }
}

/// The state of a link while the session that its client requested is being moved.
struct Resumption {
    /// Input after the client's request. The WebSocket isn't read meanwhile, so it is at most one TLS record.
    private(set) var held: [(bytes: [UInt8], isText: Bool, isLast: Bool)] = []
    /// The request to repeat, and the number of attempts left. Nil while a session moves.
    var retry: (request: ResumeRequest, left: Int)?
    /// An order to close that also applies to the session.
    var closeReason: CloseReason?
    /// Of the client's Close frame.
    var closeCode: UInt16?

    /// A session moves here, and needs the link.
    var isMoving: Bool { retry == nil }

    mutating func hold(_ piece: MessagePiece) {
        held.append((Array(piece.bytes), piece.isText, piece.isLast))
    }
}

/// The client that a claimed session is handed to.
struct SessionClaimant: Sendable {
    let lease: SessionDirectory.Lease
    /// Its dialect.
    let dialect: DialectKind?
    /// The session's id and its new token, for the client.
    let identity: SessionIdentity
    /// The last message that it has seen.
    let lastSeq: UInt64
    let directory: SessionDirectory
}
