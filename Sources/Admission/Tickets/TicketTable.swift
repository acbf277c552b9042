/// The tickets that are out: all the memory that they cost. A value; ``TicketOffice`` holds its lock.
///
/// Beside the tickets themselves lie their hashes by the second in which they expire. A second that is over is forgotten as a whole, so
/// that no operation ever walks over the tickets.
struct TicketTable {
    struct Entry {
        let id: TicketID
        let holder: SpentTicket.Holder
        let expires: MonotonicTime
        /// Until when further tickets may follow from this one.
        let chainEnd: MonotonicTime
        /// Of the certificate that the ticket was given for.
        let certificateNumber: CertificateNumber?
        /// What the holder had shown besides.
        let secret: SharedSecret?
        fileprivate(set) var uses: Int
    }

    private static let nanosecondsPerBucket: UInt64 = 1_000_000_000

    private let maximum: Int
    private let maximumPerHolder: Int
    private var entries: [TicketHash: Entry] = [:]
    private var buckets: [UInt64: [TicketHash]] = [:]
    private var counts: [SpentTicket.Holder: Int] = [:]
    /// The latest time seen. Reactors hand in their time without agreeing first; what was over for one is over for all.
    private var latest = MonotonicTime(nanoseconds: 0)

    init(maximum: Int, maximumPerHolder: Int) {
        self.maximum = maximum
        self.maximumPerHolder = maximumPerHolder
    }

    var count: Int { entries.count }

    /// - Returns: `nil` when it is in; otherwise the seconds after which there may be room.
    mutating func insert(_ entry: Entry, for hash: TicketHash, at time: MonotonicTime) -> Int? {
        forgetExpired(at: time)
        let isFull = entries.count >= maximum
        guard !isFull, counts[entry.holder, default: 0] < maximumPerHolder else { return secondsUntilRoom() }
        entries[hash] = entry
        buckets[bucket(of: entry.expires), default: []].append(hash)
        counts[entry.holder, default: 0] += 1
        return nil
    }

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

    mutating func removeAll(where isMeant: (Entry) -> Bool) {
        for (hash, entry) in entries where isMeant(entry) { remove(hash) }
    }

    mutating func withdraw(_ hash: TicketHash) { remove(hash) }

    private mutating func remove(_ hash: TicketHash) {
        guard let holder = entries.removeValue(forKey: hash)?.holder else { return }
        let left = counts[holder, default: 0] - 1
        counts[holder] = left > 0 ? left : nil
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
