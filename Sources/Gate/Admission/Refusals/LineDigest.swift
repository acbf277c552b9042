import WireText

/// Decides which events have a line of their own and which are only counted, so that nobody can fill the disk.
///
/// Time is divided into periods; a period begins with the first event after the previous one has ended. The first
/// events of each kind are written in full, as the limits say. The others are counted by kind; at the end of the period
/// each count is one line. If there are more kinds than lines or room, the smallest counts and the newest kinds are
/// merged into one count.
///
/// A value without a clock, a lock or a file: its owner passes the time, and does the writing.
struct LineDigest<Kind: Hashable & Sendable>: Sendable {
    struct Limits: Sendable {
        /// Events of a period that are written in full: of one kind, of one address, and of all. Nil: any number.
        var ofKind: Int
        var ofAddress: Int?
        var ofAll: Int?
        /// Lines for counts at the end of a period.
        var summaries: Int
        /// Kinds that are counted separately, and addresses.
        var kinds: Int
        /// Whether an event is written in full whose kind finds no room; otherwise it is counted with others.
        var writesOverflow = false
    }

    private struct Tally {
        var inFull = 0
        var counted: DigestSummary<Kind>?
    }

    /// A change also applies to the current period.
    var limits: Limits
    private var start: MonotonicTime?
    private var inFull = 0
    private var tallies: [Kind: Tally] = [:]
    private var places: [AddressPrefix: Int] = [:]
    private var others: DigestSummary<Kind>?

    init(_ limits: Limits) { self.limits = limits }

    /// Kinds that are counted separately now.
    var kindCount: Int { tallies.count }

    /// Counts an event. Call ``takeDue(at:)`` first: due counts belong to an earlier period.
    ///
    /// - Returns: whether to write it in full.
    mutating func note(
        _ kind: Kind, from prefix: AddressPrefix, _ mark: RefusalMark, at time: MonotonicTime
    ) -> Bool {
        if start == nil { start = time }
        let known = tallies[kind]
        let fresh = DigestSummary(kind: kind, count: 1, first: mark, last: mark)
        guard known != nil || tallies.count < limits.kinds else {
            if !limits.writesOverflow { count(fresh, in: &others, kind: nil) }
            return limits.writesOverflow
        }
        var tally = known ?? Tally()
        defer { tallies[kind] = tally }
        guard tally.inFull < limits.ofKind, limits.ofAll.map({ inFull < $0 }) ?? true, enter(prefix) else {
            count(fresh, in: &tally.counted, kind: kind)
            return false
        }
        tally.inFull += 1
        inFull += 1
        return true
    }

    /// Counts an event that isn't written in full in any case.
    mutating func add(_ kind: Kind, _ mark: RefusalMark, at time: MonotonicTime) {
        if start == nil { start = time }
        let known = tallies[kind]
        let fresh = DigestSummary(kind: kind, count: 1, first: mark, last: mark)
        guard known != nil || tallies.count < limits.kinds else { return count(fresh, in: &others, kind: nil) }
        var tally = known ?? Tally()
        count(fresh, in: &tally.counted, kind: kind)
        tallies[kind] = tally
    }

    /// - Returns: false if the address has had its lines.
    private mutating func enter(_ prefix: AddressPrefix) -> Bool {
        guard let maximum = limits.ofAddress else { return true }
        let count = places[prefix] ?? 0
        guard count < maximum else { return false }
        if count > 0 || places.count < limits.kinds { places[prefix] = count + 1 }
        return true
    }

    /// The counts of a period that has ended, the largest first; empty while it continues.
    mutating func takeDue(at time: MonotonicTime) -> [DigestSummary<Kind>] {
        guard let start, time >= start.advanced(by: DigestPeriod.length) else { return [] }
        return takeAll()
    }

    /// Ends the period, and returns its counts, the largest first.
    mutating func takeAll() -> [DigestSummary<Kind>] {
        defer { self = LineDigest(limits) }
        let counts = tallies.values.compactMap(\.counted).sorted(by: Self.precedes)
        let isOverfull = counts.count + (others == nil ? 0 : 1) > limits.summaries
        let named = isOverfull ? limits.summaries - 1 : counts.count
        var rest = others
        for summary in counts.dropFirst(named) { count(summary, in: &rest, kind: nil) }
        return counts.prefix(named) + (rest.map { [$0] } ?? [])
    }

    private static func precedes(_ one: DigestSummary<Kind>, _ other: DigestSummary<Kind>) -> Bool {
        if one.count != other.count { return one.count > other.count }
        return (one.first.unixMilliseconds, one.first.requestID) < (other.first.unixMilliseconds, other.first.requestID)
    }

    private func count(_ fresh: DigestSummary<Kind>, in sum: inout DigestSummary<Kind>?, kind: Kind?) {
        guard sum == nil else {
            sum?.add(fresh)
            return
        }
        sum = DigestSummary(kind: kind, count: fresh.count, first: fresh.first, last: fresh.last)
    }
}

/// Of every digest.
package enum DigestPeriod {
    package static let length: Duration = .seconds(60)
}

/// Events that were counted instead of written individually.
package struct DigestSummary<Kind: Hashable & Sendable>: Hashable, Sendable {
    /// `nil`: several kinds for which there was no room.
    package let kind: Kind?
    package internal(set) var count: Int
    package internal(set) var first: RefusalMark
    package internal(set) var last: RefusalMark

    mutating func add(_ other: Self) {
        count += other.count
        if other.first.unixMilliseconds < first.unixMilliseconds { first = other.first }
        if other.last.unixMilliseconds >= last.unixMilliseconds { last = other.last }
    }
}
