/// The challenges that were spent and haven't expired: the only state that challenges need. A value; ``Challenges``
/// holds its lock.
///
/// There is one set for each second of issue. It is dropped as a whole when its last challenge has expired, so no
/// operation iterates over challenges.
struct SpentSet {
    enum Insertion: Equatable {
        case inserted
        case expired
        case notYetIssued
        case alreadySpent
        /// Milliseconds until the oldest second is forgotten.
        case full(forgetsIn: UInt64)
    }

    private static let millisecondsPerBucket: UInt64 = 1_000

    private let maximum: Int
    /// Milliseconds.
    private let timeToLive: UInt64
    /// Milliseconds by which the clocks of those that issue and accept may differ.
    private let tolerance: UInt64
    private var buckets: [UInt64: Set<ChallengeIdentity>] = [:]
    private(set) var count = 0
    /// The latest time seen. Reactors pass their own times, which aren't synchronised. Without this a late time could
    /// accept a challenge again whose set was already dropped.
    private var latest: UInt64 = 0
    /// What was issued before has expired, whatever `timeToLive` is: an earlier process may have forgotten that it was
    /// spent.
    private var expiredBefore: UInt64 = 0

    init(maximum: Int, timeToLive: UInt64, tolerance: UInt64 = Challenges.clockTolerance) {
        self.maximum = maximum
        self.tolerance = tolerance
        self.timeToLive = timeToLive
    }

    /// All times in milliseconds since the epoch of ``Challenges``.
    mutating func insert(_ identity: ChallengeIdentity, issuedAt: UInt64, at time: UInt64) -> Insertion {
        forgetExpired(at: time)
        if let refusal = refusal(of: identity, issuedAt: issuedAt, at: time) { return refusal }
        guard count < maximum else { return .full(forgetsIn: timeUntilRoom()) }
        buckets[issuedAt / Self.millisecondsPerBucket, default: []].insert(identity)
        count += 1
        return .inserted
    }

    /// Why the challenge can't be inserted, apart from a lack of room; nil: it can.
    func refusal(of identity: ChallengeIdentity, issuedAt: UInt64, at time: UInt64) -> Insertion? {
        let now = max(latest, time)
        guard issuedAt <= now + tolerance else { return .notYetIssued }
        guard issuedAt + timeToLive > now, issuedAt >= expiredBefore else { return .expired }
        let bucket = issuedAt / Self.millisecondsPerBucket
        return buckets[bucket]?.contains(identity) == true ? .alreadySpent : nil
    }

    /// For a fleet, whose store remembers what was spent: its clock may be set back, and challenges of the new time are
    /// no older than others then.
    mutating func startOver(ifAfter time: UInt64) {
        guard latest > time + 2 * tolerance else { return }
        (latest, count, buckets) = (time, 0, [:])
    }

    // MARK: To another process

    /// 24 bytes a challenge: its second of issue, and its identity.
    var carried: CarriedSpentSet {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count * CarriedSpentSet.entryBytes)
        for (second, identities) in buckets {
            for identity in identities {
                for word in [second, identity.high, identity.low] {
                    for shift in stride(from: UInt64(56), through: 0, by: -8) {
                        bytes.append(UInt8(truncatingIfNeeded: word >> shift))
                    }
                }
            }
        }
        return CarriedSpentSet(latest: latest, challenges: bytes)
    }

    /// Takes over all challenges of an earlier process, also beyond the maximum: to forget one would be to accept it
    /// again.
    ///
    /// - Parameter earlierLife: the time to live in that process, in milliseconds.
    mutating func restore(_ carried: CarriedSpentSet, timeToLive earlierLife: UInt64) throws {
        guard carried.challenges.count.isMultiple(of: CarriedSpentSet.entryBytes) else { throw CarriedStateFault() }
        latest = max(latest, carried.latest)
        expiredBefore = carried.latest > earlierLife ? carried.latest - earlierLife : 0
        for start in stride(from: 0, to: carried.challenges.count, by: CarriedSpentSet.entryBytes) {
            let words = (0..<3).map { index in
                carried.challenges[(start + index * 8)..<(start + index * 8 + 8)].reduce(UInt64(0)) {
                    $0 << 8 | UInt64($1)
                }
            }
            let identity = ChallengeIdentity(high: words[1], low: words[2])
            // Far above any second that a challenge can have; the arithmetic below would overflow.
            guard words[0] < UInt64(1) << 40 else { throw CarriedStateFault() }
            if buckets[words[0], default: []].insert(identity).inserted { count += 1 }
        }
    }

    /// Does work at most once a second, for at most as many buckets as the time to live has seconds.
    private mutating func forgetExpired(at time: UInt64) {
        let lastSecond = latest / Self.millisecondsPerBucket
        latest = max(latest, time)
        guard latest / Self.millisecondsPerBucket > lastSecond else { return }
        for bucket in buckets.keys where endOfLife(of: bucket) <= latest {
            count -= buckets.removeValue(forKey: bucket)?.count ?? 0
        }
    }

    private func timeUntilRoom() -> UInt64 {
        let end = buckets.keys.min().map(endOfLife(of:)) ?? latest
        return end > latest ? end - latest : 0
    }

    private func endOfLife(of bucket: UInt64) -> UInt64 {
        (bucket + 1) * Self.millisecondsPerBucket + timeToLive
    }
}
