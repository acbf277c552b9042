import KeyStore
import WireText

/// The valid tickets, with all their memory. A value; ``TicketOffice`` holds its lock.
///
/// It also groups the tickets' hashes by the second in which they expire. An expired second is dropped as a whole, so
/// no operation iterates over all tickets. A large proof is stored once for all tickets of its identity.
struct TicketTable {
    enum Holder: Hashable, Sendable {
        /// A client that the gate has admitted.
        case identity(Identity)
        case `operator`
    }

    struct Limits {
        let all: Int
        /// Of one holder at one address, and of the operator. All clients without credentials are one holder, and so
        /// are those that share a certificate or an operator's ticket: one of them mustn't use up what others need.
        let perAddress: Int
        /// Of one holder with credentials, at all addresses.
        let perHolder: Int
        /// Of all clients without credentials: whoever has many addresses leaves the rest to clients with credentials.
        let anonymous: Int
        let largeProofs: Int
    }

    /// One holder at one address, as all limits by address see it.
    fileprivate struct Place: Hashable {
        let holder: Holder
        let prefix: AddressPrefix
    }

    struct Entry {
        let id: TicketID
        fileprivate(set) var holder: Holder
        /// Where the client was when it asked for the ticket; `nil`: the operator's, or from an earlier program.
        let address: IPAddress?
        fileprivate(set) var expires: MonotonicTime
        /// The time until which further tickets may be issued from this one.
        let chainEnd: MonotonicTime
        /// The shared secret that the holder had presented.
        let secret: SharedSecret?
        /// The proof of a holder, unless it is large.
        fileprivate(set) var proof: (any AdmissionProof)?
        fileprivate(set) var uses: Int
        /// It was issued for several uses, or for a bearer of such a ticket.
        let isShared: Bool
        /// That the operator's ticket proves.
        let account: AccountID?

        init(
            id: TicketID, holder: Holder, address: IPAddress?, expires: MonotonicTime, chainEnd: MonotonicTime,
            secret: SharedSecret?, uses: Int, isShared: Bool, account: AccountID? = nil
        ) {
            self.id = id
            self.holder = holder
            self.address = address
            self.expires = expires
            self.chainEnd = chainEnd
            self.secret = secret
            self.uses = uses
            self.isShared = isShared
            self.account = account
        }

        /// The identity of the upgrade.
        var identity: Identity {
            switch holder {
            case .identity(let identity): identity
            case .operator: .operatorTicket(id, proves: account)
            }
        }

        fileprivate var place: Place? { address.map { Place(holder: holder, prefix: $0.prefix) } }
    }

    private struct HolderRecord {
        var count: Int
        /// A large proof, as last verified.
        var proof: (any AdmissionProof)?
    }

    private static let nanosecondsPerBucket: UInt64 = 1_000_000_000

    private let limits: Limits
    private var entries: [TicketHash: Entry] = [:]
    private var buckets: [UInt64: Set<TicketHash>] = [:]
    private var holders: [Holder: HolderRecord] = [:]
    private var places: [Place: Int] = [:]
    private var largeProofCount = 0
    /// The latest time seen. Reactors pass their own times, which aren't synchronised; a ticket that has expired for
    /// one has expired for all.
    private var latest = MonotonicTime(nanoseconds: 0)

    init(_ limits: Limits) { self.limits = limits }

    var count: Int { entries.count }

    /// - Parameter proof: the proof of the holder.
    /// - Returns: `nil` if it was inserted; otherwise the seconds after which there may be room.
    mutating func insert(
        _ entry: Entry, _ proof: (any AdmissionProof)?, for hash: TicketHash, at time: MonotonicTime
    ) -> Int? {
        forgetExpired(at: time)
        let isLarge = proof?.isLarge ?? false
        guard entries.count < limits.all, hasRoom(entry.place),
            let holder = enter(entry.holder, isLarge ? proof : nil)
        else { return secondsUntilRoom() }
        if let place = entry.place { places[place, default: 0] += 1 }
        var entry = entry
        entry.holder = holder
        entry.proof = isLarge ? nil : proof
        entries[hash] = entry
        buckets[bucket(of: entry.expires), default: []].insert(hash)
        return nil
    }

    private func hasRoom(_ place: Place?) -> Bool { place.map { places[$0, default: 0] < limits.perAddress } ?? true }

    private func maximum(of holder: Holder) -> Int {
        switch holder {
        case .identity(let identity): identity.isAnonymous ? limits.anonymous : limits.perHolder
        case .operator: limits.perAddress
        }
    }

    /// Counts one more ticket of a holder.
    ///
    /// - Returns: the holder's record, shared by all of its tickets; `nil` if there is no room.
    private mutating func enter(_ holder: Holder, _ largeProof: (any AdmissionProof)?) -> Holder? {
        guard let index = holders.index(forKey: holder) else {
            guard maximum(of: holder) > 0, largeProof == nil || largeProofCount < limits.largeProofs else { return nil }
            holders[holder] = HolderRecord(count: 1, proof: largeProof)
            largeProofCount += largeProof == nil ? 0 : 1
            return holder
        }
        guard holders.values[index].count < maximum(of: holder) else { return nil }
        if let largeProof {
            if holders.values[index].proof == nil {
                guard largeProofCount < limits.largeProofs else { return nil }
                largeProofCount += 1
            }
            holders.values[index].proof = largeProof
        }
        holders.values[index].count += 1
        return holders[index].key
    }

    func proof(of entry: Entry) -> (any AdmissionProof)? { entry.proof ?? holders[entry.holder]?.proof }

    mutating func entry(_ hash: TicketHash, at time: MonotonicTime) -> Entry? {
        forgetExpired(at: time)
        return entries[hash]
    }

    func hasExpired(_ entry: Entry) -> Bool { latest >= entry.expires }

    mutating func takeUse(of hash: TicketHash) {
        guard let uses = entries[hash]?.uses else { return }
        if uses > 1 { entries[hash]?.uses = uses - 1 } else { remove(hash) }
    }

    // MARK: To another process

    /// - Parameter carry: `nil` for a holder whose proof can't cross: the ticket is left out then.
    func carried(
        _ carry: (Entry, (any AdmissionProof)?) -> CarriedPrincipal?
    ) -> [CarriedTicket] {
        entries.compactMap { hash, entry in
            var holder: CarriedPrincipal?
            if case .identity = entry.holder {
                guard let carried = carry(entry, proof(of: entry)) else { return nil }
                holder = carried
            }
            return CarriedTicket(
                hash: hash.carried, id: entry.id, holder: holder, address: entry.address?.text, expires: entry.expires,
                chainEnd: entry.chainEnd, uses: entry.uses, isShared: entry.isShared, account: entry.account)
        }
    }

    mutating func withdraw(_ hash: TicketHash) { remove(hash) }

    // MARK: Entries that last

    enum Renewal {
        case added
        /// It was there already.
        case renewed
        case full(retryAfter: Int)
    }

    /// Inserts an entry, or gives the one that is there the end of this one. Where holder or address are others, it
    /// takes its place.
    mutating func renew(_ entry: Entry, for hash: TicketHash, at time: MonotonicTime) -> Renewal {
        forgetExpired(at: time)
        if let known = entries[hash] {
            guard known.holder != entry.holder || known.place != entry.place else {
                move(hash, to: entry.expires)
                return .renewed
            }
            remove(hash)
        }
        return insert(entry, nil, for: hash, at: time).map { .full(retryAfter: $0) } ?? .added
    }

    /// It ends then, or before.
    mutating func shorten(_ hash: TicketHash, to expires: MonotonicTime) {
        if let known = entries[hash], expires < known.expires { move(hash, to: expires) }
    }

    private mutating func move(_ hash: TicketHash, to expires: MonotonicTime) {
        guard let known = entries[hash] else { return }
        leaveBucket(hash, known)
        entries[hash]?.expires = expires
        buckets[bucket(of: expires), default: []].insert(hash)
    }

    private mutating func leaveBucket(_ hash: TicketHash, _ entry: Entry) {
        let bucket = bucket(of: entry.expires)
        buckets[bucket]?.remove(hash)
        if buckets[bucket]?.isEmpty == true { buckets[bucket] = nil }
    }

    private mutating func remove(_ hash: TicketHash) {
        guard let entry = entries.removeValue(forKey: hash) else { return }
        leaveBucket(hash, entry)
        guard let index = holders.index(forKey: entry.holder) else { return }
        if let place = entry.place { leave(place) }
        holders.values[index].count -= 1
        guard holders.values[index].count == 0 else { return }
        if holders.remove(at: index).value.proof != nil { largeProofCount -= 1 }
    }

    private mutating func leave(_ place: Place) {
        guard let count = places[place] else { return }
        places[place] = count > 1 ? count - 1 : nil
    }

    /// Does work at most once a second.
    private mutating func forgetExpired(at time: MonotonicTime) {
        let before = bucket(of: latest)
        latest = max(latest, time)
        let now = bucket(of: latest)
        guard now > before else { return }
        for bucket in buckets.keys where bucket < now {
            for hash in buckets.removeValue(forKey: bucket) ?? [] { remove(hash) }
        }
    }

    private func secondsUntilRoom() -> Int {
        let next =
            buckets.keys.min().map { MonotonicTime(nanoseconds: ($0 &+ 1) &* Self.nanosecondsPerBucket) } ?? latest
        return latest.secondsForRetry(until: next)
    }

    private func bucket(of time: MonotonicTime) -> UInt64 { time.nanoseconds / Self.nanosecondsPerBucket }
}
