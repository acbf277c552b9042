/// The tickets that are out: all the memory that they cost. A value; ``TicketOffice`` holds its lock.
///
/// Beside the tickets themselves lie their hashes by the second in which they expire. A second that is over is forgotten as a whole, so
/// that no operation ever walks over the tickets. What a certificate needs to be verified again is kept once for all of its tickets.
struct TicketTable {
    struct Entry {
        let id: TicketID
        fileprivate(set) var holder: SpentTicket.Holder
        let expires: MonotonicTime
        /// Until when further tickets may follow from this one.
        let chainEnd: MonotonicTime
        /// What the holder had shown besides.
        let secret: SharedSecret?
        fileprivate(set) var uses: Int
    }

    /// One who has tickets out.
    private struct HolderRecord {
        var count: Int
        /// As it was verified last, for a holder who showed one.
        var certificate: TicketCertificate?
    }

    private static let nanosecondsPerBucket: UInt64 = 1_000_000_000

    private let maximum: Int
    private let maximumPerHolder: Int
    private let maximumCertificates: Int
    private var entries: [TicketHash: Entry] = [:]
    private var buckets: [UInt64: [TicketHash]] = [:]
    private var holders: [SpentTicket.Holder: HolderRecord] = [:]
    private var certificateCount = 0
    /// The latest time seen. Reactors hand in their time without agreeing first; what was over for one is over for all.
    private var latest = MonotonicTime(nanoseconds: 0)

    init(maximum: Int, maximumPerHolder: Int, maximumCertificates: Int) {
        self.maximum = maximum
        self.maximumPerHolder = maximumPerHolder
        self.maximumCertificates = maximumCertificates
    }

    var count: Int { entries.count }

    /// - Parameter certificate: the holder's, where he showed one.
    /// - Returns: `nil` when it is in; otherwise the seconds after which there may be room.
    mutating func insert(
        _ entry: Entry, of certificate: TicketCertificate? = nil, for hash: TicketHash, at time: MonotonicTime
    ) -> Int? {
        forgetExpired(at: time)
        guard entries.count < maximum, let holder = enter(entry.holder, certificate) else { return secondsUntilRoom() }
        var entry = entry
        entry.holder = holder
        entries[hash] = entry
        buckets[bucket(of: entry.expires), default: []].append(hash)
        return nil
    }

    /// Counts one more ticket of a holder.
    ///
    /// - Returns: the holder as it is kept for all of its tickets; `nil` where there is no room.
    private mutating func enter(
        _ holder: SpentTicket.Holder, _ certificate: TicketCertificate?
    ) -> SpentTicket.Holder? {
        guard let index = holders.index(forKey: holder) else {
            guard maximumPerHolder > 0, certificate == nil || certificateCount < maximumCertificates else { return nil }
            holders[holder] = HolderRecord(count: 1, certificate: certificate)
            certificateCount += certificate == nil ? 0 : 1
            return holder
        }
        guard holders.values[index].count < maximumPerHolder else { return nil }
        holders.values[index].count += 1
        if let certificate, holders.values[index].certificate != nil { holders.values[index].certificate = certificate }
        return holders[index].key
    }

    func certificate(of entry: Entry) -> TicketCertificate? { holders[entry.holder]?.certificate }

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
        if holders.remove(at: index).value.certificate != nil { certificateCount -= 1 }
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
