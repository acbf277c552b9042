/// Says which refusals are written in full and which are only counted, so that strangers can't fill the disk.
///
/// Time is cut into periods; one begins with the first refusal after the last has ended. In a period the first ``inFullPerKind`` refusals
/// of each kind are written in full, as long as half of the lines lasts that the period may have. The rest is counted by kind, and each
/// count is one line when the period has ended: the other half. Where there are more kinds than lines or room, the smallest counts and
/// the newest kinds become one count of them all. So a period has at most ``linesPerPeriod`` lines, whatever comes.
///
/// A value without a clock, a lock or a file: its owner brings the time, and writes.
package struct RefusalDigest: Sendable {
    package static let period: Duration = .seconds(60)
    /// Refusals of one kind that are written in full in a period.
    package static let inFullPerKind = 10
    /// Kinds that are told apart in a period.
    package static let maximumKinds = 4_096
    /// `AUDIT_REFUSALS_PER_MINUTE`.
    package static let defaultLinesPerPeriod = 300

    private struct Tally {
        var inFull = 0
        var counted: RefusalSummary?
    }

    /// At least 2. A change holds for the period that has begun, too.
    package var linesPerPeriod: Int
    private let maximumKinds: Int
    private var start: MonotonicTime?
    private var inFull = 0
    private var tallies: [RefusalKind: Tally] = [:]
    private var others: RefusalSummary?

    package init(linesPerPeriod: Int = defaultLinesPerPeriod, maximumKinds: Int = maximumKinds) {
        self.linesPerPeriod = linesPerPeriod
        self.maximumKinds = max(maximumKinds, 0)
    }

    private var maximumInFull: Int { max(linesPerPeriod / 2, 1) }
    private var maximumSummaries: Int { max(linesPerPeriod - maximumInFull, 1) }

    /// Kinds that are told apart now; for metrics.
    package var kindCount: Int { tallies.count }

    /// Takes note of a refusal. To be asked for ``takeDue(at:)`` first: what is due belongs to another period.
    ///
    /// - Returns: whether it is to be written in full.
    package mutating func note(_ kind: RefusalKind, _ mark: RefusalMark, at time: MonotonicTime) -> Bool {
        if start == nil { start = time }
        let known = tallies[kind]
        let fresh = RefusalSummary(kind: kind, count: 1, first: mark, last: mark)
        guard known != nil || tallies.count < maximumKinds else {
            count(fresh, in: &others, kind: nil)
            return false
        }
        var tally = known ?? Tally()
        defer { tallies[kind] = tally }
        guard tally.inFull < Self.inFullPerKind, inFull < maximumInFull else {
            count(fresh, in: &tally.counted, kind: kind)
            return false
        }
        tally.inFull += 1
        inFull += 1
        return true
    }

    /// The counts of a period that has ended, the largest first; empty while it goes on.
    package mutating func takeDue(at time: MonotonicTime) -> [RefusalSummary] {
        guard let start, time >= start.advanced(by: Self.period) else { return [] }
        return takeAll()
    }

    /// Ends the period, and returns its counts, the largest first.
    package mutating func takeAll() -> [RefusalSummary] {
        defer { self = RefusalDigest(linesPerPeriod: linesPerPeriod, maximumKinds: maximumKinds) }
        let counts = tallies.values.compactMap(\.counted).sorted(by: Self.precedes)
        let isOverfull = counts.count + (others == nil ? 0 : 1) > maximumSummaries
        let named = isOverfull ? maximumSummaries - 1 : counts.count
        var rest = others
        for summary in counts.dropFirst(named) { count(summary, in: &rest, kind: nil) }
        return counts.prefix(named) + (rest.map { [$0] } ?? [])
    }

    private static func precedes(_ one: RefusalSummary, _ other: RefusalSummary) -> Bool {
        if one.count != other.count { return one.count > other.count }
        return (one.first.unixMilliseconds, one.first.requestID) < (other.first.unixMilliseconds, other.first.requestID)
    }

    private func count(_ fresh: RefusalSummary, in sum: inout RefusalSummary?, kind: RefusalKind?) {
        guard sum == nil else {
            sum?.add(fresh)
            return
        }
        sum = RefusalSummary(kind: kind, count: fresh.count, first: fresh.first, last: fresh.last)
    }
}
