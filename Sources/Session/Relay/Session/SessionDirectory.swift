package import Admission
import Reactors
import RelayCore
import Synchronization
package import WireText

/// All sessions of the gateway, on all reactors: how many each client has, and on which reactor each resumable session
/// is.
///
/// It never calls a session: work for another reactor is submitted there as a job.
package final class SessionDirectory: Sendable {
    typealias Register = SessionRegister<SessionHolder>
    typealias Lease = Register.Lease

    /// Each session is used on its loop's thread alone.
    private let register: Mutex<Register>
    /// Nil: this gateway is alone.
    private let announcer: (any SessionAnnouncer)?
    /// The ids of sessions that were announced; empty without an announcer. The register may release a lease by itself.
    private let announced = Mutex<(ids: [Lease: String], isOver: Bool)>(([:], false))

    /// Nil: this gateway is alone.
    private let counts: (any FleetSessionCounts)?

    /// - Parameters:
    ///   - limits: read at each use; a lowered one ends no session.
    ///   - announcer: tells the other gateways of the fleet which sessions are here.
    ///   - counts: tells them how many each client has.
    package init(
        _ limits: @autoclosure @escaping @Sendable () -> SessionLeaseLimits, announcer: (any SessionAnnouncer)? = nil,
        counts: (any FleetSessionCounts)? = nil
    ) {
        register = Mutex(SessionRegister(limits: limits()))
        self.announcer = announcer
        self.counts = counts
    }

    // MARK: The fleet

    package var limits: SessionLeaseLimits { register.withLock { $0.limits } }

    package func count(of owner: Identity) -> SessionCount {
        let count = register.withLock { $0.count(of: owner) }
        return SessionCount(sessions: count.leases, evictable: count.evictable)
    }

    /// The owner has begun another session somewhere in the counts.
    ///
    /// - Parameter address: where that one has begun; nil: at another gateway.
    /// - Returns: false if none of its sessions here makes room for it.
    @discardableResult
    package func evictOldest(of owner: SessionOwner, from address: IPAddress?, at time: MonotonicTime) -> Bool {
        guard let evicted = register.withLock({ $0.evictOldest(of: owner, from: address, at: time) }) else {
            return false
        }
        evicted.loop.submit { evicted.session?.close(.sessionEvicted) }
        counts?.changed(owner.identity)
        return true
    }

    /// The session may be one too many in the whole counts. Then it is closed.
    ///
    /// - Parameter newcomer: its place in the table of its loop; nobody can resume its session yet.
    func noteBegun(of client: ClientIdentity, _ lease: Lease, _ newcomer: LoopBound<(number: Int, table: SessionTable)>)
    {
        guard let counts, !client.owner.isAnonymous else { return }
        counts.began(client.principal.owner, from: client.address) { [self] in
            guard let holder = register.withLock({ $0.holder(of: lease) }) else {
                return newcomer.loop.submit {
                    newcomer.value.table.session(newcomer.value.number)?.close(.tooManySessions)
                }
            }
            // It may have been resumed on another loop meanwhile.
            holder.loop.submit { holder.session?.close(.tooManySessions) }
        }
    }

    /// Asks whether the client may be going to resume a session of another gateway.
    ///
    /// - Parameter answer: called once, on any thread.
    /// - Returns: false if it can't be: then `answer` isn't called.
    func askElsewhere(_ client: ClientIdentity, answer: @escaping @Sendable (Bool) -> Void) -> Bool {
        guard announcer != nil, let counts, !client.owner.isAnonymous else { return false }
        counts.isElsewhere(client.owner, answer: answer)
        return true
    }

    private func noteChange(of lease: Lease) {
        guard let counts, let owner = register.withLock({ $0.owner(of: lease) }), !owner.isAnonymous else { return }
        counts.changed(owner)
    }

    /// Whether the session is at this gateway, as far as it can be resumed.
    func holds(_ id: String) -> Bool { register.withLock { $0.holds(id) } }

    /// Announces every session again: of an earlier process, or to a store that may have lost some.
    package func announceAll() {
        guard let announcer else { return }
        announced.withLock { announced in
            guard !announced.isOver else { return }
            for id in announced.ids.values { announcer.began(id, whenFound: nil) }
        }
    }

    /// The ids of announced sessions that stay when these go to another process.
    func announced(but going: Set<Lease>) -> [String] {
        announced.withLock { $0.ids.filter { !going.contains($0.key) }.map(\.value) }
    }

    /// Another process has the sessions now, and announces them itself.
    package func stopAnnouncing() {
        announced.withLock { $0.isOver = true }
        announcer?.stop()
    }

    private func note(_ id: String, of lease: Lease, announces: Bool) {
        guard let announcer else { return }
        announced.withLock { announced in
            let isNews = announced.ids.updateValue(id, forKey: lease) == nil
            if announces, isNews, !announced.isOver { announcer.began(id, whenFound: nil) }
        }
    }

    /// Has other gateways find a session that can soon be resumed.
    ///
    /// - Parameter whenFound: called once, on any thread; or never.
    /// - Returns: nanoseconds to wait for it at most; nil: nobody is told, this gateway is alone.
    func announce(_ lease: Lease, as id: String, whenFound: @escaping @Sendable () -> Void) -> UInt64? {
        guard let announcer else { return nil }
        return announced.withLock { announced in
            guard !announced.isOver else { return nil }
            announced.ids[lease] = id
            announcer.began(id, whenFound: whenFound)
            return UInt64(announcer.toldAfterMilliseconds) * 1_000_000
        }
    }

    private func forget(_ lease: Lease) {
        guard let announcer else { return }
        announced.withLock { announced in
            guard let id = announced.ids.removeValue(forKey: lease), !announced.isOver else { return }
            announcer.ended(id)
        }
    }

    // MARK: Leases

    /// Takes a lease before a target is dialled. If the identity or the address has too many, a detached session may
    /// end.
    func reserve(for client: ClientIdentity, at now: UInt64) -> SessionReservation<SessionHolder> {
        let outcome = register.withLock {
            $0.reserve(for: client.principal.owner, from: client.address, at: MonotonicTime(nanoseconds: now))
        }
        if case .reservedInPlaceOf(_, let evicted) = outcome {
            evicted.loop.submit { evicted.session?.close(.sessionEvicted) }
        }
        return outcome
    }

    func release(_ lease: Lease) {
        let owner = register.withLock { register in
            defer { register.release(lease) }
            return counts == nil ? nil : register.owner(of: lease)
        }
        if let owner, !owner.isAnonymous { counts?.changed(owner) }
        forget(lease)
    }

    // MARK: Resuming

    /// From here on the session can be resumed, by its owner with its token.
    func open(
        _ lease: Lease, as id: String, _ token: SessionToken, of client: ClientIdentity, heldBy holder: SessionHolder
    ) {
        let isOpen = register.withLock { $0.open(lease, id: id, token: token, of: client.principal, holder: holder) }
        if isOpen { note(id, of: lease, announces: true) }
    }

    /// The client has confirmed the newest token.
    func tokenConfirmed(_ lease: Lease, at now: UInt64) {
        register.withLock { $0.tokenConfirmed(lease, at: MonotonicTime(nanoseconds: now)) }
    }

    /// The client that may resume a session with its token alone.
    package func bearer(of credential: SessionCredential, at time: MonotonicTime) -> Principal? {
        register.withLock { $0.bearer(of: credential, at: time) }
    }

    /// A session of this gateway that another gateway's client may resume.
    package func find(_ credential: SessionCredential, at time: MonotonicTime) -> FoundSession? {
        register.withLock { $0.find(credential, at: time) }
    }

    /// For the process that replaces this one.
    func carried(_ lease: Lease, by carrier: PrincipalCarrier) -> CarriedSession? {
        register.withLock { $0.carried(lease, carrier.carry) }
    }

    /// A session of an earlier process, without a client.
    func restore(_ session: CarriedSession, by carrier: PrincipalCarrier, holder: SessionHolder) throws -> Lease {
        let owner = try carrier.restore(session.owner)
        let bearer = try session.bearer.map { try carrier.restore($0) }
        guard let address = IPAddress(text: session.address),
            let lease = register.withLock({
                $0.restore(session, of: owner, at: address, bearer: bearer, holder: holder)
            })
        else { throw CarriedStateFault() }
        noteChange(of: lease)
        note(session.id, of: lease, announces: false)
        return lease
    }

    func detached(_ lease: Lease, at now: UInt64) {
        register.withLock { $0.detached(lease, at: MonotonicTime(nanoseconds: now)) }
        noteChange(of: lease)
    }

    /// - Returns: where the session is, and its new token.
    func claim(
        _ request: ResumeRequest, by client: ClientIdentity, at now: UInt64
    ) -> SessionClaim<SessionHolder> {
        var generator = SystemRandomNumberGenerator()
        return register.withLock {
            $0.claim(
                id: request.sessionID, token: request.token, owner: client.owner,
                at: MonotonicTime(nanoseconds: now), using: &generator)
        }
    }

    /// The session that was claimed has been adopted by another link.
    ///
    /// - Parameter detachedAt: nil: it has a client.
    /// - Returns: false if it has lost its lease meanwhile.
    func adopted(_ lease: Lease, by holder: SessionHolder, detachedAt: UInt64?) -> Bool {
        defer { noteChange(of: lease) }
        return register.withLock {
            $0.adopted(lease, by: holder, detachedAt: detachedAt.map(MonotonicTime.init(nanoseconds:)))
        }
    }

    /// The session that was claimed stays where it is.
    func claimFailed(_ lease: Lease) {
        register.withLock { $0.claimFailed(lease) }
    }

    /// Whether this client may be resuming a session.
    func isAwaited(_ client: ClientIdentity) -> Bool {
        mayComeBack(client.owner, client.address)
    }

    /// The same for a client that isn't admitted yet.
    package func mayComeBack(_ owner: Identity, _ address: IPAddress) -> Bool {
        register.withLock { $0.hasSession(owner, from: address) }
    }
}

extension ClientIdentity {
    fileprivate var owner: Identity { principal.identity }
}

/// Where a session is: the loop that may call it.
struct SessionHolder: Sendable {
    private let bound: LoopBound<(session: Session, table: SessionTable)>

    init(_ session: Session) {
        bound = LoopBound((session, session.sessions), to: session.loop)
    }

    var loop: any SessionLoop { bound.loop }

    /// On the loop only. Nil once the session has ended or moved to another loop.
    var session: Session? {
        let (session, table) = bound.value
        return table.contains(session) ? session : nil
    }

    /// On the loop only. Hands the session off, for `claim`.
    func handOff(to other: any SessionLoop, _ claim: SessionClaimant) -> HandOff {
        let outcome = session?.handOff(to: other, claim) ?? .refused(.expired)
        if case .refused = outcome { claim.directory.claimFailed(claim.lease) }
        return outcome
    }
}
