import Admission
import Compression
import Logging
import Observability
import Reactors
import RelayCore

/// A client whose session hasn't begun: this finds out which dialect the client speaks, and whether it resumes a
/// session or needs a target for a new one.
///
/// It counts as a session everywhere. A ``Session`` takes its place once the dialect is known and the target is
/// connected. When a client resumes, its session takes the newcomer's counts and global lease, and the newcomer is
/// dismissed.
final class Newcomer: SessionStage {
    /// The maximum number of targets on one connection: more than a person tries, and too few for a scan or a flood.
    static let maximumDials = 16

    let arrival: Arrival
    var announcement = SessionAnnouncement.none

    /// For the client of `link`, whose WebSocket is open.
    static func begin(on link: ClientLink, _ arrival: Arrival) {
        let newcomer = Newcomer(link, arrival)
        link.stage = newcomer
        newcomer.opened(on: link)
    }

    private init(_ link: ClientLink, _ arrival: Arrival) {
        self.arrival = arrival
        let now = link.loop.now
        super.init(
            SessionStateMachine(limits: arrival.settings.session, now: now), of: link.client, arrival.globalLease,
            openedAt: now, settings: arrival.settings, sessions: link.sessions, loop: link.loop)
        arrival.globalLease = nil
        self.link = link
    }

    private func opened(on link: ClientLink) {
        counters.isCompressed = link.isCompressed
        sessions.insert(self)
        settings.metrics.sessionOpened()
        beginDialect(on: link)
        // By now the link may have resumed a session.
        if settings.drain.isDraining { link.stage?.close(.shuttingDown) } else { perform([]) }
    }

    // MARK: Which dialect

    /// The subprotocol, a fixed default or the first message decides the dialect. MUDs speak first, so the target is
    /// dialled at once, unless the client is going to name one or may be resuming a session, here or at another gateway
    /// of the fleet.
    private func beginDialect(on link: ClientLink) {
        deadlines.connectBy = loop.now + settings.dialects.connectWait
        if let kind = arrival.dialect { return begin(kind) }
        guard arrival.request.resume == nil, !settings.directory.isAwaited(client) else { return }
        let here = LoopBound(link, to: loop)
        let isAsked = settings.directory.askElsewhere(client) { isElsewhere in
            guard !isElsewhere else { return }
            here.loop.submit { here.value.newcomer?.dialUnlessChosen() }
        }
        if !isAsked { dial(.standard) }
    }

    /// The client's first message may have been faster.
    private func dialUnlessChosen() {
        if isUndecided, leg == nil, endOfTarget == nil { dial(.standard) }
    }

    private func begin(_ kind: DialectKind) {
        become(kind)
        switch arrival.request.resume {
        case nil:
            if translation?.value.awaitsConnect != true { dial(.standard) }
        case let request? where kind.resumes:
            translate { translation, _ in translation.beginResuming() }
            link?.resume(request)
        default: perform(machine.close(.invalidResume, now: loop.now))
        }
    }

    private func become(_ kind: DialectKind) {
        let translation = Translation(
            kind: kind, client: arrival.request.client,
            maximumMessageBytes: settings.dialects.maximumMessageBytes,
            outputBufferBytes: settings.dialects.outputBufferBytes, compressor: sessions.compressor,
            makeDecompressor: { ZlibDecompressor() })
        self.translation = translation.map { TranslationHolder($0) }
        recount()
    }

    /// The dialect is known: translates the data that both sides have sent meanwhile.
    private func choose(_ kind: DialectKind) {
        guard isUndecided else { return }
        let message = arrival.decided()
        if leg == nil, endOfTarget == nil { begin(kind) } else { become(kind) }
        if passesUnchanged {
            deliverPending()
            if leg?.isConnected == true { beginSession() }
        }
        if translation?.value.awaitsConnect == false { meetTarget() }
        // Each call may begin the session.
        if let message { current.receiveFirst(message) }
        current.tellClient()
        current.noteClientQueue()
        // While the session is being announced, `announced()` does this.
        if !isAnnouncing { current.tellEndOfTarget() }
    }

    private func deliverPending() {
        pending.take(spare: &sessions.scratch.spare) { rest in
            rest.withUnsafeBytes { bytes in
                guard !bytes.isEmpty else { return }
                noteRelayed(bytes.count)
                link?.socket?.send(bytes)
            }
            rest = []
        }
    }

    /// - Parameter id: as the client will know it; nil where bytes pass unchanged.
    @discardableResult
    func beginSession(as id: String? = nil) -> Session {
        (deadlines.connectBy, deadlines.resume) = (nil, nil)
        link?.arrival = nil
        let session = Session(self, as: id)
        hand(over: session)
        return session
    }

    /// Another session takes its place on its link.
    func dismiss() {
        leave()
        settings.metrics.sessionEnded(EndReason.sessionReplaced)
    }

    // MARK: The client

    override func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) {
        guard translation == nil else { return super.receive(piece, isText: isText, isLast: isLast) }
        if let kind = arrival.receive(piece, isText: isText, isLast: isLast) { choose(kind) }
    }

    override func carryOut(_ order: TranslationOrder) {
        switch order {
        case .dial(let target):
            deadlines.connectBy = nil  // From here on the dial has its own deadline.
            dialCount += 1
            guard dialCount <= Self.maximumDials else { return perform(machine.close(.tooManyDials, now: loop.now)) }
            dial(target)
        case .resume(let request): link?.resume(request)
        case .close: super.carryOut(order)
        }
    }

    /// Asks the directory again for the session that the client wants to resume.
    func askAgain(at time: UInt64) {
        deadlines.resume = time
        armTimer()
    }

    /// - Parameter failure: why the requested session can't be resumed.
    func resumeFailed(_ failure: ResumeFailure) {
        log("session not resumed", [LogKeys.reason: "\(failure)"])
        settings.metrics.resumed(ResumeOutcome(failure))
        translate { $0.resumeFailed(failure, into: &$1) }
        // An upgrade that names a session may have been admitted only for it.
        if arrival.request.resume != nil { perform(machine.close(failure.close, now: loop.now)) }
    }

    // MARK: The target

    override func targetConnected() {
        if let leg { noteConnected(leg) }
        let actions = machine.targetConnected(now: loop.now)
        if passesUnchanged { beginSession() } else { translationConnected() }
        current.perform(actions)
    }

    override func targetFinished() {
        announced()
        if let successor { return successor.targetFinished() }
        super.targetFinished()
    }

    override func targetClosed(error: TCPError?) {
        announced()
        if let successor { return successor.targetClosed(error: error) }
        guard let error, leg?.isConnected != true else { return super.targetClosed(error: error) }
        let (target, dialledAt) = (leg?.target, leg?.dialledAt ?? loop.now)
        leg = nil
        recount()
        logTargetError(error, target)
        noteDial(DialOutcome(error), since: dialledAt)
        guard !dialFailed(error) else { return }
        endOfTarget = .closed(CloseReason(error))
        tellEndOfTarget()
    }

    override func releaseLease() {
        super.releaseLease()
        announcement = .none
        deadlines.announcement = nil
    }

    // MARK: The gateway

    /// A client whose dialect isn't known yet gets the target's output unchanged.
    override func close(_ reason: CloseReason) {
        if isUndecided, leg != nil {
            choose(.raw)
            if let successor { return successor.close(reason) }
        }
        super.close(reason)
    }

    override func timerFired(now: UInt64) {
        if let kind = arrival.tick(now: now, turn: loop.turn) { choose(kind) }
        if machine.isUnderway, successor == nil { deadlinesReached(now) }
        if let successor { return successor.timerFired(now: now) }
        super.timerFired(now: now)
    }

    private func deadlinesReached(_ now: UInt64) {
        endPauses(now)
        if deadlines.takeAnnouncement(now) { announced() }
        guard successor == nil else { return }
        if deadlines.takeResume(now) { link?.resumeAgain() }
        _ = deadlines.takeKeepAlive(now)  // Nothing to keep alive yet.
        if deadlines.takeConnect(now), awaitsConnect { perform(machine.close(.noTargetNamed, now: now)) }
    }

    /// The client has to name a target: it hasn't yet, or the named one was unreachable.
    private var awaitsConnect: Bool { translation?.value.awaitsConnect ?? false }
}
