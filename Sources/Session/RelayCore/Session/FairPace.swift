/// A budget of messages per second that several sources share (`MESSAGES_PER_SECOND_PER_ADDRESS`: the sessions of one
/// address).
///
/// Nothing is refused: input that has arrived counts, and a source that has sent too much isn't read for a while. While
/// the budget lasts, every source may use it. When it is overdrawn, only sources that have sent more than their share
/// wait. A share is the budget divided by the number of active sources, so a source that sends little never waits for
/// one that sends a lot.
///
/// Shares are measured as in fair queuing (Demers, Keshav, Shenker 1989), by a virtual time, `shareTime`. It runs
/// slower than the clock by the number of active sources, which is counted in windows of a second. Every call has
/// constant cost and allocates nothing.
package struct FairPace: Sendable {
    /// The state of one source.
    package struct Member: Sendable {
        /// In share time: when the source's share will have covered everything that it has sent.
        fileprivate var paidAt: UInt64 = 0
        /// The last window in which it was active or waited.
        fileprivate var window: UInt64?

        package init() {}
    }

    /// A waiting source asks again after this time: there may be fewer active sources then.
    static let window: UInt64 = 1_000_000_000
    /// The part of the allowance that must have recovered before a source is read again.
    private static let pause: UInt64 = 100_000_000

    private var total: RateBucket
    /// The latest time seen. Reactors pass their own times, which aren't synchronised; this one never goes back.
    private var latest: UInt64 = 0
    private var shareTime: UInt64 = 0
    /// The time up to which `shareTime` has been counted.
    private var countedUntil: UInt64 = 0
    private var windowNumber: UInt64 = 0
    private var talkers: UInt64 = 0
    private var talkersBefore: UInt64 = 0

    /// - Parameter perSecond: 0: no limit.
    package init(perSecond: Int) {
        total = RateBucket(perSecond: perSecond)
    }

    /// Spent allowance stays spent.
    package mutating func setRate(perSecond: Int) {
        total.perSecond = perSecond
    }

    /// A message of this source has arrived.
    ///
    /// - Returns: when to ask again whether the source may be read; nil: it may now.
    package mutating func spend(_ member: inout Member, now: UInt64) -> UInt64? {
        guard total.perSecond > 0 else { return nil }
        advance(to: now)
        note(&member)
        total.spend(1, now: latest)
        member.paidAt = max(member.paidAt, shareTime) + total.price(1)
        // An unused share is free: it isn't charged to this source when other sources become active later.
        if isWithinBudget { member.paidAt = min(member.paidAt, shareTime + allowance) }
        return wait(of: member)
    }

    /// - Returns: when to ask again; nil: this source may be read.
    package mutating func readableAt(_ now: UInt64, _ member: inout Member) -> UInt64? {
        guard total.perSecond > 0 else { return nil }
        advance(to: now)
        note(&member)
        return wait(of: member)
    }

    // MARK: Shares

    private var sharers: UInt64 { max(talkers, talkersBefore, 1) }

    /// How far ahead of its share a source may be: by one second's share, like the budget's own burst.
    private var allowance: UInt64 { RateBucket.depth / sharers }

    private var isWithinBudget: Bool { total.time(untilOwed: RateBucket.depth, now: latest) == nil }

    private func wait(of member: Member) -> UInt64? {
        guard !isWithinBudget, member.paidAt > shareTime + allowance else { return nil }
        let least = max(Self.pause, total.price(1))
        let budget = total.time(untilOwed: RateBucket.depth - min(least, RateBucket.depth), now: latest) ?? latest
        let leastOfShare = max(Self.pause / sharers, total.price(1))
        let ahead = min(member.paidAt - shareTime - allowance + leastOfShare, Self.window)
        let share = latest + ahead * sharers
        return min(max(min(budget, share), latest + 1), latest + Self.window)
    }

    private mutating func advance(to now: UInt64) {
        latest = max(latest, now)
        let step = (latest - countedUntil) / sharers
        shareTime += step
        // The rest of the division is counted the next time.
        countedUntil += step * sharers
        let number = latest / Self.window
        guard number != windowNumber else { return }
        talkersBefore = number == windowNumber + 1 ? talkers : 0
        talkers = 0
        windowNumber = number
    }

    private mutating func note(_ member: inout Member) {
        guard member.window != windowNumber else { return }
        member.window = windowNumber
        talkers += 1
    }
}
