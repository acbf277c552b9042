/// The valid tickets, and all memory that they take. A value; ``TicketOffice`` holds its lock.
///
/// Besides the tickets it has their hashes by the second in which they expire. A second that is over is forgotten as a whole, so that no
/// operation ever walks over the tickets. A large proof is kept once for all tickets of its identity.
struct TicketTable {
    /// What tickets are counted by.
    enum Holder: Hashable, Sendable {
        /// Of a client that has shown credentials to the gate.
        case identity(Identity)
        case `operator`
    }

    struct Entry {
        let id: TicketID
        fileprivate(set) var holder: Holder
        let expires: MonotonicTime
        /// Until when further tickets may follow from this one.
        let chainEnd: MonotonicTime
        /// What the holder had shown besides.
        let secret: SharedSecret?
        /// Of a holder whose proof isn't large.
        fileprivate(set) var proof: (any AdmissionProof)?
        fileprivate(set) var uses: Int

        init(
            id: TicketID, holder: Holder, expires: MonotonicTime, chainEnd: MonotonicTime, secret: SharedSecret?,
            uses: Int
        ) {
            self.id = id
            self.holder = holder
            self.expires = expires
            self.chainEnd = chainEnd
            self.secret = secret
            self.uses = uses
        }

        /// Whose upgrade it is.
        var identity: Identity {
            switch holder {
            case .identity(let identity): identity
            case .operator: .operatorTicket(id)
            }
        }
    }

    private struct HolderRecord {
        var count: Int
        /// A large one, as it was verified last.
        var proof: (any AdmissionProof)?
    }

    private static let nanosecondsPerBucket: UInt64 = 1_000_000_000

    private let maximum: Int
    private let maximumPerHolder: Int
    private let maximumLargeProofs: Int
    private var entries: [TicketHash: Entry] = [:]
    private var buckets: [UInt64: [TicketHash]] = [:]
    private var holders: [Holder: HolderRecord] = [:]
    private var largeProofCount = 0
    /// The latest time seen. Reactors hand in their time without agreeing first; what was over for one is over for all.
    private var latest = MonotonicTime(nanoseconds: 0)

    init(maximum: Int, maximumPerHolder: Int, maximumLargeProofs: Int) {
        self.maximum = maximum
        self.maximumPerHolder = maximumPerHolder
        self.maximumLargeProofs = maximumLargeProofs
    }

    var count: Int { entries.count }

    /// - Parameter proof: the holder's.
    /// - Returns: `nil` when it is in; otherwise the seconds after which there may be room.
    mutating func insert(
        _ entry: Entry, _ proof: (any AdmissionProof)?, for hash: TicketHash, at time: MonotonicTime
    ) -> Int? {
        forgetExpired(at: time)
        let isLarge = proof?.isLarge ?? false
        guard entries.count < maximum, let holder = enter(entry.holder, isLarge ? proof : nil) else {
            return secondsUntilRoom()
        }
        var entry = entry
        entry.holder = holder
        entry.proof = isLarge ? nil : proof
        entries[hash] = entry
        buckets[bucket(of: entry.expires), default: []].append(hash)
        return nil
    }

    /// Counts one more ticket of a holder.
    ///
    /// - Returns: the holder as it is kept for all of its tickets; `nil` where there is no room.
    private mutating func enter(_ holder: Holder, _ largeProof: (any AdmissionProof)?) -> Holder? {
        guard let index = holders.index(forKey: holder) else {
            guard maximumPerHolder > 0, largeProof == nil || largeProofCount < maximumLargeProofs else { return nil }
            holders[holder] = HolderRecord(count: 1, proof: largeProof)
            largeProofCount += largeProof == nil ? 0 : 1
            return holder
        }
        guard holders.values[index].count < maximumPerHolder else { return nil }
        if let largeProof {
            if holders.values[index].proof == nil {
                guard largeProofCount < maximumLargeProofs else { return nil }
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

    /// Its hash stays in its bucket until that is forgotten; there is one of each, so it can't come back in between.
    mutating func takeUse(of hash: TicketHash) {
        guard let uses = entries[hash]?.uses else { return }
        if uses > 1 { entries[hash]?.uses = uses - 1 } else { remove(hash) }
    }

    mutating func withdraw(_ hash: TicketHash) { remove(hash) }

    private mutating func remove(_ hash: TicketHash) {
        guard let holder = entries.removeValue(forKey: hash)?.holder, let index = holders.index(forKey: holder) else {
            return
        }
        holders.values[index].count -= 1
        guard holders.values[index].count == 0 else { return }
        if holders.remove(at: index).value.proof != nil { largeProofCount -= 1 }
    }

    /// At most once a second there is anything to do.
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
