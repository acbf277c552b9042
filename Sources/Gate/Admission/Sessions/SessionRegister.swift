import FoundationEssentials
package import WireText

/// Counts sessions by identity and address, and finds the sessions that a client may resume. A value: its owner holds
/// the lock.
///
/// A session's lease is taken before its target is dialled and released when the session has ended, even if the client
/// was detached in between. The register stores nothing except for leases that are taken.
///
/// A lease counts for the address where its session began, even if its client resumes from another one: no limit
/// prevents a resume.
package struct SessionRegister<Holder> {
    /// One session's lease among those of its identity and its address. It is meaningful only in the register that
    /// issued it.
    package struct Lease: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    struct Entry {
        let owner: SessionOwner
        let address: IPAddress
        /// When the session lost its client; `nil` while it is attached.
        var detachedAt: MonotonicTime?
        /// A reference, because a dictionary allocates up to twice the space of its entries, and many sessions can't be
        /// resumed at all.
        fileprivate var found: Found?
        /// `nil` until the session can be resumed.
        var session: OpenSession? {
            get { found?.session }
            set { found = newValue.map(Found.init) }
        }
    }

    fileprivate final class Found {
        let session: OpenSession

        init(_ session: OpenSession) { self.session = session }
    }

    struct OpenSession {
        let id: String
        var tokens: SessionTokens
        /// The client that may resume with the token alone; `nil`: none may.
        let bearer: Principal?
        /// The owner of the session: a `SessionHolder`, on its loop.
        var holder: Holder
        /// The tokens before the claim; set while the session moves to the holder that has claimed it.
        var tokensBefore: SessionTokens?
    }

    /// Settable, for a reload. Lowering a limit ends no session; an identity or address above it only gets no new one.
    package var limits: SessionLeaseLimits
    private(set) var entries: [Lease: Entry] = [:]
    private var leases: [ByteText: Lease] = [:]
    /// The leases of owners with a subject.
    private var owned: [Identity: Set<Lease>] = [:]
    private var perAddress: [AddressPrefix: Set<Lease>] = [:]
    private var openPer: [Key: Int] = [:]
    private var nextNumber: UInt64 = 0

    /// The key for counting owners that aren't verified.
    private enum Key: Hashable {
        case owner(Identity)
        case anonymous(AddressPrefix)

        init(_ owner: Identity, _ address: IPAddress) {
            self = owner.isAnonymous ? .anonymous(address.prefix) : .owner(owner)
        }
    }

    package init(limits: SessionLeaseLimits = SessionLeaseLimits()) { self.limits = limits }

    // MARK: Leases

    /// Takes a lease. At the limit of the owner or of the address the detached session of which ``SessionEviction``
    /// says that it goes is evicted: its lease is released and its holder is returned. If there is none, nothing
    /// changes.
    ///
    /// One session at most is evicted. At both limits it has to be one of the owner's at this address, since another
    /// one wouldn't make room.
    package mutating func reserve(
        for owner: SessionOwner, from address: IPAddress, at time: MonotonicTime
    ) -> SessionReservation<Holder> {
        let leases = owned[owner.identity, default: []]
        let here = perAddress[address.prefix, default: []]
        let isOwnerFull = !owner.identity.isAnonymous && leases.count >= limits.perDevice
        let isAddressFull = here.count >= limits.perAddress
        var oldest: (lease: Lease, holder: Holder)?
        if isOwnerFull {
            oldest = goes(first: leases, eviction(for: owner, from: address, .device, time))
            guard oldest != nil else { return .refused(.device) }
        }
        if isAddressFull {
            let candidates = isOwnerFull ? here.intersection(leases) : here
            oldest = goes(first: candidates, eviction(for: owner, from: address, .address, time))
            guard oldest != nil else { return .refused(.address) }
        }
        guard let oldest else { return .reserved(issue(for: owner, from: address)) }
        release(oldest.lease)
        return .reservedInPlaceOf(issue(for: owner, from: address), evicted: oldest.holder)
    }

    private func eviction(
        for owner: SessionOwner, from address: IPAddress?, _ limit: SessionLeaseLimit, _ time: MonotonicTime
    ) -> SessionEviction {
        SessionEviction(newcomer: owner, address: address?.prefix, limit: limit, limits: limits, time: time)
    }

    /// Releases a lease. Has no effect if it is no longer taken.
    package mutating func release(_ lease: Lease) {
        guard let entry = entries.removeValue(forKey: lease) else { return }
        if let id = entry.session?.id {
            leases[ByteText(id)] = nil
            Self.count(-1, for: Key(entry.owner.identity, entry.address), in: &openPer)
        }
        let owner = entry.owner.identity
        if !owner.isAnonymous {
            owned[owner]?.remove(lease)
            if owned[owner]?.isEmpty == true { owned[owner] = nil }
        }
        perAddress[entry.address.prefix]?.remove(lease)
        if perAddress[entry.address.prefix]?.isEmpty == true { perAddress[entry.address.prefix] = nil }
    }

    /// Evicts the session of this owner that makes room for one that has begun already, if there is one.
    ///
    /// - Parameter address: where that one has begun; `nil`: at another gateway of the fleet.
    package mutating func evictOldest(
        of owner: SessionOwner, from address: IPAddress?, at time: MonotonicTime
    ) -> Holder? {
        let leases = owned[owner.identity, default: []]
        guard let oldest = goes(first: leases, eviction(for: owner, from: address, .device, time)) else { return nil }
        release(oldest.lease)
        return oldest.holder
    }

    private mutating func issue(for owner: SessionOwner, from address: IPAddress) -> Lease {
        let lease = Lease(number: nextNumber)
        nextNumber &+= 1
        entries[lease] = Entry(owner: owner, address: address)
        if !owner.identity.isAnonymous { owned[owner.identity, default: []].insert(lease) }
        perAddress[address.prefix, default: []].insert(lease)
        return lease
    }

    /// The client's own first, and of these the one that has been detached for longest.
    ///
    /// Iterates over the leases of one owner or address; the limits bound their number. Sessions that are being moved
    /// are skipped.
    private func goes(first leases: Set<Lease>, _ eviction: SessionEviction) -> (lease: Lease, holder: Holder)? {
        var first: (order: (UInt8, MonotonicTime, UInt64), lease: Lease, holder: Holder)?
        for lease in leases {
            guard let entry = entries[lease], let time = entry.detachedAt, let session = entry.session,
                session.tokensBefore == nil,
                eviction.mayEvict(entry.owner, from: entry.address.prefix, detachedAt: time)
            else { continue }
            let order = (eviction.isOwn(entry.owner) ? UInt8(0) : 1, time, lease.number)
            if first.map({ order < $0.order }) ?? true { first = (order, lease, session.holder) }
        }
        return first.map { ($0.lease, $0.holder) }
    }

    private static func count<K: Hashable>(_ change: Int, for key: K, in counts: inout [K: Int]) {
        let count = counts[key, default: 0] + change
        counts[key] = count > 0 ? count : nil
    }

    // MARK: Sessions

    /// Makes the session of a lease available for resuming by its id.
    ///
    /// - Parameter id: the gateway's own; at most ``SessionLeaseLimits/maximumIDBytes``.
    /// - Parameter principal: the client. One that was admitted by a ticket may resume with the token alone.
    /// - Returns: false, without any change, if the lease isn't taken or already has a session, or if the id is in use
    ///   or too long.
    @discardableResult
    package mutating func open(
        _ lease: Lease, id: String, token: SessionToken, of principal: Principal? = nil, holder: Holder
    ) -> Bool {
        guard let entry = entries[lease], entry.session == nil, leases[ByteText(id)] == nil,
            id.utf8.count <= SessionLeaseLimits.maximumIDBytes
        else { return false }
        let bearer = principal.flatMap { $0.isByTicket ? $0.comingBack : nil }
        entries[lease]?.session = OpenSession(id: id, tokens: SessionTokens(token), bearer: bearer, holder: holder)
        leases[ByteText(id)] = lease
        Self.count(1, for: Key(entry.owner.identity, entry.address), in: &openPer)
        return true
    }

    /// What a process that replaces this one needs to know of a session without a client; `nil`: it can't be resumed,
    /// or is being moved.
    ///
    /// - Parameter carry: `nil` for a client whose proof can't cross.
    package func carried(_ lease: Lease, _ carry: (Principal) -> CarriedPrincipal?) -> CarriedSession? {
        guard let entry = entries[lease], let session = entry.session, session.tokensBefore == nil,
            let detachedAt = entry.detachedAt
        else { return nil }
        var bearer: CarriedPrincipal?
        if let principal = session.bearer {
            guard let carried = carry(principal) else { return nil }
            bearer = carried
        }
        return CarriedSession(
            id: session.id, tokens: session.tokens, owner: CarriedIdentity(entry.owner.identity),
            address: entry.address.text, detachedAt: detachedAt, bearer: bearer, isShared: entry.owner.isShared)
    }

    /// Takes over a session from an earlier process, whatever the limits are: they are for new ones.
    ///
    /// - Returns: `nil` where its id is in use.
    package mutating func restore(
        _ carried: CarriedSession, of owner: Identity, at address: IPAddress, bearer: Principal?, holder: Holder
    ) -> Lease? {
        guard leases[ByteText(carried.id)] == nil, carried.id.utf8.count <= SessionLeaseLimits.maximumIDBytes else {
            return nil
        }
        let lease = issue(for: SessionOwner(owner, carriedAsShared: carried.isShared), from: address)
        entries[lease]?.detachedAt = carried.detachedAt
        entries[lease]?.session = OpenSession(
            id: carried.id, tokens: carried.tokens, bearer: bearer, holder: holder)
        leases[ByteText(carried.id)] = lease
        Self.count(1, for: Key(owner, address), in: &openPer)
        return lease
    }

    /// The session has lost its client and may be evicted from now on. A session that can't be resumed can't be
    /// detached.
    package mutating func detached(_ lease: Lease, at time: MonotonicTime) {
        guard let entry = entries[lease], entry.session != nil, entry.detachedAt == nil else { return }
        entries[lease]?.detachedAt = time
    }

    /// The claimed session belongs to `holder` from now on.
    ///
    /// - Parameter detachedAt: nil if its client is attached.
    /// - Returns: false if its lease was released meanwhile; then the session has to end.
    package mutating func adopted(_ lease: Lease, by holder: Holder, detachedAt: MonotonicTime?) -> Bool {
        guard entries[lease]?.session != nil else { return false }
        entries[lease]?.session?.holder = holder
        entries[lease]?.session?.tokensBefore = nil
        entries[lease]?.detachedAt = detachedAt
        return true
    }

    /// The claimed session stays with its holder, and its previous tokens are restored.
    package mutating func claimFailed(_ lease: Lease) {
        guard let before = entries[lease]?.session?.tokensBefore else { return }
        entries[lease]?.session?.tokens = before
        entries[lease]?.session?.tokensBefore = nil
    }

    // MARK: Looking

    func lease(of id: String) -> Lease? { leases[ByteText(id)] }

    /// Whether there is a session with this id.
    package func holds(_ id: String) -> Bool {
        id.utf8.count <= SessionLeaseLimits.maximumIDBytes && leases[ByteText(id)] != nil
    }

    /// For a session that is being moved, changes the tokens from before the claim: its client doesn't have the new one
    /// yet.
    mutating func changeTokens(of lease: Lease, _ change: (inout SessionTokens) -> Void) {
        guard var session = entries[lease]?.session else { return }
        if var before = session.tokensBefore {
            change(&before)
            session.tokensBefore = before
        } else {
            change(&session.tokens)
        }
        entries[lease]?.session = session
    }

    mutating func beginMove(of lease: Lease, tokens: SessionTokens) {
        let before = entries[lease]?.session?.tokens
        entries[lease]?.session?.tokensBefore = before
        entries[lease]?.session?.tokens = tokens
    }

    /// Whether a client may be resuming a session: `owner` has one or, if it is anonymous, the address has an anonymous
    /// one. Attached sessions count too, because a client often reconnects before the gateway notices the loss of its
    /// old connection.
    package func hasSession(_ owner: Identity, from address: IPAddress) -> Bool {
        openPer[Key(owner, address)] != nil
    }

    /// Leases that are taken.
    package var count: Int { entries.count }

    /// Leases of an owner with a subject, and those of them whose sessions make room for one that it begins at another
    /// gateway.
    package func count(of owner: Identity) -> (leases: Int, evictable: Int) {
        let leases = owned[owner, default: []]
        return (leases.count, leases.count { entries[$0]?.detachedAt != nil && entries[$0]?.owner.isShared == false })
    }

    /// Nil as long as the session can't be resumed.
    package func holder(of lease: Lease) -> Holder? { entries[lease]?.session?.holder }

    package func owner(of lease: Lease) -> Identity? { entries[lease]?.owner.identity }
    package var detachedCount: Int { entries.values.count { $0.detachedAt != nil } }

    /// The total number of entries in all tables; for tests.
    var footprint: Int {
        entries.count + leases.count + owned.count + perAddress.count + openPer.count
    }
}

extension SessionRegister: Sendable where Holder: Sendable {}
extension SessionRegister.Entry: Sendable where Holder: Sendable {}
extension SessionRegister.Found: Sendable where Holder: Sendable {}
extension SessionRegister.OpenSession: Sendable where Holder: Sendable {}

package enum SessionReservation<Holder> {
    case reserved(SessionRegister<Holder>.Lease)
    /// The other session was evicted; its holder must be told.
    case reservedInPlaceOf(SessionRegister<Holder>.Lease, evicted: Holder)
    case refused(SessionLeaseLimit)
}

extension SessionReservation: Sendable where Holder: Sendable {}
