/// One session as operators see it: nothing that a player typed or read, and no secret. Times in milliseconds.
package struct SessionSummary: Codable, Sendable, Equatable {
    /// A longer subject is cut.
    package static let maximumSubjectBytes = 200

    /// The request id of the upgrade that its client came by, as in the log. It changes when the client comes back.
    package var id: String
    package var age: UInt64
    /// Since the client sent something for its target.
    package var idle: UInt64
    package var dialect: String
    /// The name of its target: a route's, `default`, or `HOST:PORT` of the client's choice; `-` without a target.
    package var route: String
    /// The label of the admission method of its identity.
    package var method: String
    /// The name of its client among the method's; nil without credentials.
    package var subject: String?
    package var address: String
    package var isAttached: Bool
    package var bytesFromClient: Int
    package var bytesToClient: Int

    package init(
        id: String, age: UInt64, idle: UInt64, dialect: String, route: String, method: String, subject: String?,
        address: String, isAttached: Bool, bytesFromClient: Int, bytesToClient: Int
    ) {
        self.id = id
        self.age = age
        self.idle = idle
        self.dialect = dialect
        self.route = route
        self.method = method
        self.subject = subject
        self.address = address
        self.isAttached = isAttached
        self.bytesFromClient = bytesFromClient
        self.bytesToClient = bytesToClient
    }
}

/// All that operators see of one session.
package struct SessionDetail: Codable, Sendable, Equatable {
    package var summary: SessionSummary
    /// `HOST:PORT`; nil without a target.
    package var target: String?
    /// The TLS version toward the target; nil without TLS.
    package var targetTLS: String?
    /// The client's own connection is encrypted.
    package var isSecure: Bool
    /// By which credential the client came this time: its method's, a ticket or the session's token.
    package var shown: String
    /// permessage-deflate was agreed on.
    package var isCompressed: Bool
    /// Of the target's text; nil where bytes pass unchanged.
    package var encoding: String?
    package var isResumable: Bool
    /// How long a session without a client is kept; nil while it has one.
    package var endsWithoutClientIn: UInt64?
    package var isEnding: Bool
    /// Why the client isn't read: names of `ReadingPauses`. Empty: it is read.
    package var clientPauses: [String]
    package var targetPauses: [String]
    package var queuedToClient: Int
    package var queuedToTarget: Int
    /// Of the target's output that isn't translated yet.
    package var pendingFromTarget: Int
    package var dials: Int
    package var frameBytesFromClient: Int
    package var frameBytesToClient: Int
}

/// Which sessions are meant. All given conditions must hold.
package struct SessionFilter: Codable, Sendable, Equatable {
    package var route: String?
    /// The whole subject.
    package var subject: String?
    /// An address, or a range such as `192.0.2.0/24`.
    package var address: String?

    package init(route: String? = nil, subject: String? = nil, address: String? = nil) {
        self.route = route
        self.subject = subject
        self.address = address
    }
}

/// One page of the list of sessions.
package struct SessionQuery: Codable, Sendable, Equatable {
    package enum Order: String, Codable, Sendable, CaseIterable {
        /// The oldest first.
        case age
        /// Those that carried the most first.
        case bytes
        /// The longest without input first.
        case idle
    }

    /// Sessions of a page. With the limits of texts an answer stays below the control socket's 1 MiB.
    package static let maximumLimit = 400

    package var filter: SessionFilter
    package var order: Order
    package var limit: Int
    /// `next` of the page before.
    package var after: String?

    package init(filter: SessionFilter = SessionFilter(), order: Order = .age, limit: Int, after: String? = nil) {
        self.filter = filter
        self.order = order
        self.limit = limit
        self.after = after
    }
}

package struct SessionPage: Codable, Sendable, Equatable {
    package var sessions: [SessionSummary]
    /// All sessions that the filter means, on this page or not.
    package var matching: Int
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(sessions: [SessionSummary], matching: Int, next: String?) {
        self.sessions = sessions
        self.matching = matching
        self.next = next
    }
}

/// Which sessions an operator closes.
package enum SessionSelection: Codable, Sendable, Equatable {
    case id(String)
    /// All of one client: the filter has to name its subject or its address.
    case matching(SessionFilter)
}
