package import WireText

/// Decides which refusals are written in full and which are only counted, so that attackers can't fill the disk.
///
/// Time is divided into periods; a period begins with the first refusal after the previous one has ended. The first ``inFullPerKind``
/// refusals of each kind are written in full, up to half of the period's lines. The others are counted by kind; at the end of the period
/// each count is one line, in the other half. If there are more kinds than lines or room, the smallest counts and the newest kinds are
/// merged into one count. So a period never has more than ``linesPerPeriod`` lines.
///
/// A value without a clock, a lock or a file: its owner passes the time, and does the writing.
package struct RefusalDigest: Sendable {
    package static let period: Duration = .seconds(60)
    /// Refusals of one kind that are written in full in a period.
    package static let inFullPerKind = 10
    /// Kinds that are counted separately in a period.
    package static let maximumKinds = 4_096
    /// `AUDIT_REFUSALS_PER_MINUTE`.
    package static let defaultLinesPerPeriod = 300

    private struct Tally {
        var inFull = 0
        var counted: RefusalSummary?
    }

    /// At least 2. A change also applies to the current period.
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

    /// Kinds that are counted separately now; for metrics.
    package var kindCount: Int { tallies.count }

    /// Counts a refusal. Call ``takeDue(at:)`` first: due counts belong to an earlier period.
    ///
    /// - Returns: whether to write it in full.
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

    /// The counts of a period that has ended, the largest first; empty while it continues.
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

/// The kind of event that was refused.
package enum RefusedEvent: String, Hashable, Sendable {
    case upgrade, registration, ticket, token, authorization
    /// A request that was refused before the gate: its framing or path was wrong, or it exceeded the rate limit.
    case request
}

/// Refusals that are counted together: from one network, for one reason.
package struct RefusalKind: Hashable, Sendable {
    package let prefix: AddressPrefix
    package let event: RefusedEvent
    package let code: RefusalCode

    package init(prefix: AddressPrefix, event: RefusedEvent, code: RefusalCode) {
        self.prefix = prefix
        self.event = event
        self.code = code
    }
}

/// Identifies one refusal: by the request id that the client was sent, and by its time.
package struct RefusalMark: Hashable, Sendable {
    package let requestID: String
    package let unixMilliseconds: Int64

    package init(requestID: String, unixMilliseconds: Int64) {
        self.requestID = requestID
        self.unixMilliseconds = unixMilliseconds
    }
}

/// Refusals that were counted instead of written individually.
package struct RefusalSummary: Hashable, Sendable {
    /// `nil`: several kinds for which there was no room.
    package let kind: RefusalKind?
    package internal(set) var count: Int
    package internal(set) var first: RefusalMark
    package internal(set) var last: RefusalMark

    mutating func add(_ other: RefusalSummary) {
        count += other.count
        if other.first.unixMilliseconds < first.unixMilliseconds { first = other.first }
        if other.last.unixMilliseconds >= last.unixMilliseconds { last = other.last }
    }
}
