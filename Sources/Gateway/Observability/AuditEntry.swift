/// One decision, as the audit log records it. Text fields may contain client input, which is escaped and truncated when
/// written. They never contain a secret.
package struct AuditEntry: Sendable, Equatable {
    /// The kind of event.
    package enum Event: String, Sendable, CaseIterable {
        /// A WebSocket upgrade at the gate.
        case upgrade
        /// An App Attest registration.
        case registration
        /// A request for a ticket, which admits its bearer to an upgrade.
        case ticket
        /// A request for an access token.
        case token
        /// A request for an HTTP service behind a proxy (`/authz`).
        case authorization
        /// A player's sign-in, or what a player does with an account.
        case account
        /// A refresh token was used after its successor: its family has ended.
        case refreshReuse = "refresh_reuse"
        /// A refresh token was shown with a proof of another key than its family's.
        case refreshWrongKey = "refresh_wrong_key"
        /// The end of a session, with its reason.
        case session
        /// What an operator did, over the control socket or in the console.
        case operation
    }

    package enum Outcome: String, Sendable, CaseIterable {
        case admitted
        case refused
        /// Admitted as anonymous although it would have been refused: `REQUIRE_APP_AUTH=report`.
        case reported
        /// Neither: something in the gateway failed, such as the store.
        case failed
        /// The end of a session.
        case ended
        /// What an operator did.
        case done
    }

    package var time: Timestamp
    package var event: Event
    package var outcome: Outcome
    /// The label of the admission method; `none` if no credential was presented.
    package var method: String
    /// The subject of the client's identity; nil if there is none.
    package var who: String?
    /// The stable public code of a refusal; nil if admitted.
    package var reason: String?
    /// For the operator alone.
    package var detail: String?
    /// The check that a refused request failed, what it expected and what it got; nil if there is nothing to say.
    package var check: String?
    package var expected: String?
    package var received: String?
    package var requestID: String
    package var address: String

    package init(
        time: Timestamp, event: Event, outcome: Outcome, method: String, who: String? = nil, reason: String? = nil,
        detail: String? = nil, requestID: String, address: String
    ) {
        self.time = time
        self.event = event
        self.outcome = outcome
        self.method = method
        self.who = who
        self.reason = reason
        self.detail = detail
        self.requestID = requestID
        self.address = address
    }

    /// The entry as one line of JSON, with its newline.
    package var line: String {
        var line = JSONLine()
        line.add("time", time.description)
        line.add("event", event.rawValue)
        line.add(LogKeys.outcome, outcome.rawValue)
        line.add(LogKeys.admission, method)
        if let who { line.add(LogKeys.client, who) }
        if let reason { line.add(LogKeys.reason, reason) }
        if let detail { line.add(LogKeys.detail, detail) }
        if let check { line.add(LogKeys.check, check) }
        if let expected { line.add(LogKeys.expected, expected, maximumBytes: Self.maximumTextBytes) }
        if let received { line.add(LogKeys.received, received, maximumBytes: Self.maximumTextBytes) }
        line.add(LogKeys.requestID, requestID)
        line.add(LogKeys.address, address)
        return line.terminated()
    }

    /// Bytes of `expected` and of `received`, after escaping.
    private static let maximumTextBytes = 256
}

/// Refusals or admissions of a minute that were counted instead of written individually, as the audit log records them.
package struct AuditSummary: Sendable, Equatable {
    /// One of the counted events.
    package struct Mark: Sendable, Equatable {
        package let time: Timestamp
        package let requestID: String

        package init(time: Timestamp, requestID: String) {
            self.time = time
            self.requestID = requestID
        }
    }

    package static let eventName = "refusals"
    package static let admissionsName = "admissions"
    /// In place of an address, for all addresses without a count of their own.
    package static let otherAddresses = "other addresses"
    /// In place of an address, of a client that is counted by its identity.
    package static let allAddresses = "all addresses"

    /// ``eventName`` or ``admissionsName``.
    package var eventName = Self.eventName
    /// Of admissions: the label of the admission method, and the subject of the client's identity.
    package var method: String?
    package var who: String?

    package let time: Timestamp
    /// An event's name. Nil where several kinds were counted together.
    package let event: String?
    package let outcome: AuditEntry.Outcome
    package let reason: String?
    package let count: Int
    package let first: Mark
    package let last: Mark
    /// An IPv4 address, an IPv6 /64, ``otherAddresses`` or ``allAddresses``.
    package let address: String

    package init(
        time: Timestamp, event: String?, outcome: AuditEntry.Outcome, reason: String?, count: Int,
        first: Mark, last: Mark, address: String
    ) {
        self.time = time
        self.event = event
        self.outcome = outcome
        self.reason = reason
        self.count = count
        self.first = first
        self.last = last
        self.address = address
    }

    /// The summary as one line of JSON, with its newline.
    package var line: String {
        var line = JSONLine()
        line.add("time", time.description)
        line.add("event", eventName)
        if let event { line.add(LogKeys.of, event) }
        line.add(LogKeys.outcome, outcome.rawValue)
        if let method { line.add(LogKeys.admission, method) }
        if let who { line.add(LogKeys.client, who) }
        if let reason { line.add(LogKeys.reason, reason) }
        line.add(LogKeys.count, String(count))
        line.add(LogKeys.firstTime, first.time.description)
        line.add(LogKeys.firstRequestID, first.requestID)
        line.add(LogKeys.lastTime, last.time.description)
        line.add(LogKeys.lastRequestID, last.requestID)
        line.add(LogKeys.address, address)
        return line.terminated()
    }
}

/// The line of the audit log which states that lines before it are missing.
struct AuditGap {
    let time: Timestamp
    let count: UInt64

    var line: String {
        var line = JSONLine()
        line.add("time", time.description)
        line.add("event", "gap")
        line.add(LogKeys.outcome, AuditEntry.Outcome.failed.rawValue)
        line.add(LogKeys.count, String(count))
        line.add(LogKeys.detail, "lines that could not be written")
        return line.terminated()
    }
}
