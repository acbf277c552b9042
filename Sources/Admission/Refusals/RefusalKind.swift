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
