package import WireText

/// Decides which refusals are written in full and which are only counted, so that attackers can't fill the disk.
///
/// The first ``inFullPerKind`` refusals of each kind in a minute are written in full, up to half of the minute's lines;
/// the counts have the other half. So a minute never has more than ``linesPerPeriod`` lines.
package struct RefusalDigest: Sendable {
    package static let period = DigestPeriod.length
    /// Refusals of one kind that are written in full in a period.
    package static let inFullPerKind = 10
    /// Kinds that are counted separately in a period.
    package static let maximumKinds = 4_096
    /// `AUDIT_REFUSALS_PER_MINUTE`.
    package static let defaultLinesPerPeriod = 300

    private var digest: LineDigest<RefusalKind>

    /// At least 2. A change also applies to the current period.
    package var linesPerPeriod: Int {
        didSet { digest.limits = Self.limits(linesPerPeriod, kinds: digest.limits.kinds) }
    }

    package init(linesPerPeriod: Int = defaultLinesPerPeriod, maximumKinds: Int = maximumKinds) {
        self.linesPerPeriod = linesPerPeriod
        digest = LineDigest(Self.limits(linesPerPeriod, kinds: max(maximumKinds, 0)))
    }

    private static func limits(_ lines: Int, kinds: Int) -> LineDigest<RefusalKind>.Limits {
        let inFull = max(lines / 2, 1)
        return .init(
            ofKind: inFullPerKind, ofAll: inFull, summaries: max(lines - inFull, 1), kinds: kinds)
    }

    /// Kinds that are counted separately now; for metrics.
    package var kindCount: Int { digest.kindCount }

    /// Counts a refusal. Call ``takeDue(at:)`` first: due counts belong to an earlier period.
    ///
    /// - Returns: whether to write it in full.
    package mutating func note(_ kind: RefusalKind, _ mark: RefusalMark, at time: MonotonicTime) -> Bool {
        digest.note(kind, from: kind.prefix, mark, at: time)
    }

    /// The counts of a period that has ended, the largest first; empty while it continues.
    package mutating func takeDue(at time: MonotonicTime) -> [RefusalSummary] { digest.takeDue(at: time) }

    /// Ends the period, and returns its counts, the largest first.
    package mutating func takeAll() -> [RefusalSummary] { digest.takeAll() }
}

/// The kind of event that was refused.
package enum RefusedEvent: String, Hashable, Sendable {
    case upgrade, registration, ticket, token, authorization, account
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

/// Identifies one event, such as a refusal: by the request id that the client was sent, and by its time.
package struct RefusalMark: Hashable, Sendable {
    package let requestID: String
    package let unixMilliseconds: Int64

    package init(requestID: String, unixMilliseconds: Int64) {
        self.requestID = requestID
        self.unixMilliseconds = unixMilliseconds
    }
}

/// Refusals that were counted instead of written individually.
package typealias RefusalSummary = DigestSummary<RefusalKind>
