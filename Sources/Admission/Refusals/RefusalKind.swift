/// What was refused.
package enum RefusedEvent: String, Hashable, Sendable {
    case upgrade, registration, ticket
    /// A request that no rule of the gate has seen: its framing or its path was wrong, or it came too often.
    case request
}

/// Refusals that are counted together: of one network, for one reason.
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

/// Names one refusal: where it is looked for in what the client was sent, and when it was.
package struct RefusalMark: Hashable, Sendable {
    package let requestID: String
    package let unixMilliseconds: Int64

    package init(requestID: String, unixMilliseconds: Int64) {
        self.requestID = requestID
        self.unixMilliseconds = unixMilliseconds
    }
}

/// Refusals that were counted and not written one by one.
package struct RefusalSummary: Hashable, Sendable {
    /// `nil`: of several kinds, of those that found no room.
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
