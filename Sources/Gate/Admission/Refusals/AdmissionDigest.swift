package import WireText

/// Decides which admissions are written in full and which are only counted: an admitted client could fill the disk as a
/// refused one could. What comes of an admission, such as the end of its session, is written if the admission was.
///
/// The first ``inFullPerKind`` events of each kind in a minute are written in full, and of one address
/// ``inFullPerAddress``. A client with an identity is never counted together with others as long as there is room, and
/// shares its lines with nobody at another address. Clients without one are strangers: they are counted by address, and
/// all of them together have as many lines as refusals.
package struct AdmissionDigest: Sendable {
    /// Events of one identity, or of the strangers at one address, that are written in full in a period: of each event
    /// and outcome.
    package static let inFullPerKind = 20
    /// Events of one address that are written in full in a period.
    package static let inFullPerAddress = 60
    /// Kinds that are counted separately in a period. What clients with an identity do beyond that is written in full.
    package static let maximumKinds = 8_192
    /// The same two for what an admitted client's session says in the log.
    package static let loggedPerKind = 60
    package static let loggedPerAddress = 300
    /// Lines about clients with an identity that were counted. The largest counts have a line each, and the others
    /// share one.
    package static let maximumSummaries = 1_000

    private var clients: LineDigest<AdmissionKind>
    private var strangers: LineDigest<AdmissionKind>

    /// - Parameters:
    ///   - linesPerPeriod: about strangers; at least 2.
    ///   - perKind: events of one kind that are written in full.
    ///   - perAddress: events of one address that are written in full.
    package init(
        linesPerPeriod: Int, perKind: Int = inFullPerKind, perAddress: Int = inFullPerAddress,
        maximumKinds: Int = maximumKinds
    ) {
        clients = LineDigest(
            .init(
                ofKind: perKind, ofAddress: perAddress, ofAll: nil, summaries: Self.maximumSummaries,
                kinds: maximumKinds, writesOverflow: true))
        strangers = LineDigest(
            .init(ofKind: perKind, ofAddress: perAddress, ofAll: nil, summaries: 1, kinds: maximumKinds))
        setLinesPerPeriod(linesPerPeriod)
    }

    /// Also applies to the current period.
    package mutating func setLinesPerPeriod(_ lines: Int) {
        let inFull = max(lines / 2, 1)
        (strangers.limits.ofAll, strangers.limits.summaries) = (inFull, max(lines - inFull, 1))
    }

    /// Kinds that are counted separately now.
    package var kindCount: Int { clients.kindCount + strangers.kindCount }

    /// Counts an event. Call ``takeDue(at:)`` first: due counts belong to an earlier period.
    ///
    /// - Returns: whether to write it in full.
    package mutating func note(
        _ kind: AdmissionKind, from prefix: AddressPrefix, _ mark: RefusalMark, at time: MonotonicTime
    ) -> Bool {
        switch kind.client {
        case .identity: clients.note(kind, from: prefix, mark, at: time)
        case .stranger: strangers.note(kind, from: prefix, mark, at: time)
        }
    }

    /// Counts what came of an admission that was only counted: so every request id that the log has is there from its
    /// begin to its end.
    package mutating func add(_ kind: AdmissionKind, _ mark: RefusalMark, at time: MonotonicTime) {
        switch kind.client {
        case .identity: clients.add(kind, mark, at: time)
        case .stranger: strangers.add(kind, mark, at: time)
        }
    }

    /// The counts of a period that has ended; empty while it continues.
    package mutating func takeDue(at time: MonotonicTime) -> [AdmissionSummary] {
        clients.takeDue(at: time) + strangers.takeDue(at: time)
    }

    /// Ends the period, and returns its counts.
    package mutating func takeAll() -> [AdmissionSummary] { clients.takeAll() + strangers.takeAll() }
}

/// What a client was admitted to, or what came of it.
package enum AdmittedEvent: String, Hashable, Sendable {
    case upgrade, registration, ticket, token, authorization, session, account
}

package enum AdmissionOutcome: String, Hashable, Sendable {
    case admitted, reported
    /// The admission had no effect.
    case failed
    /// A session has ended.
    case ended
}

/// Admissions that are counted together: of one identity or, without one, from one network.
package struct AdmissionKind: Hashable, Sendable {
    package enum Client: Hashable, Sendable {
        /// By the subject of its identity, in its one canonical form.
        case identity(String)
        case stranger(AddressPrefix)
    }

    package let event: AdmittedEvent
    package let outcome: AdmissionOutcome
    package let method: MethodName
    package let client: Client
    /// Why a reported client would have been refused.
    package let reason: RefusalCode?

    /// - Parameter who: the subject of the client's identity; nil if there is none.
    package init(
        _ event: AdmittedEvent, _ outcome: AdmissionOutcome, by method: MethodName, who: String?,
        from prefix: AddressPrefix, reason: RefusalCode? = nil
    ) {
        (self.event, self.outcome, self.method, self.reason) = (event, outcome, method, reason)
        client = who.map { .identity($0) } ?? .stranger(prefix)
    }
}

/// Admissions that were counted instead of written individually.
package typealias AdmissionSummary = DigestSummary<AdmissionKind>
