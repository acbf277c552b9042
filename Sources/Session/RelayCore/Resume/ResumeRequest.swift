import WireText

/// A client's request to resume its earlier session.
package struct ResumeRequest: Equatable, Sendable, CustomStringConvertible {
    package let sessionID: String
    package let token: String
    /// The last number that the client has seen; 0: it requests all kept messages.
    package let lastSeq: UInt64

    package init(sessionID: String, token: String, lastSeq: UInt64) {
        self.sessionID = sessionID
        self.token = token
        self.lastSeq = lastSeq
    }

    /// The parameters `session`, `token` and `lastSeq` of a query, for dialects without a message for it. nil without
    /// `session`.
    ///
    /// A missing token matches no session. An invalid `lastSeq` requests all kept messages: the answer says where they
    /// begin.
    ///
    /// - Parameter parameter: the decoded value of the parameter with this name; nil if it is absent or malformed.
    package init?(parameter: (String) -> String?) {
        guard let sessionID = parameter("session") else { return nil }
        let lastSeq = parameter("lastSeq").flatMap(UInt64.init) ?? 0
        self.init(sessionID: sessionID, token: parameter("token") ?? "", lastSeq: lastSeq)
    }

    package static func == (one: ResumeRequest, other: ResumeRequest) -> Bool {
        one.sessionID.hasSameBytes(as: other.sessionID) && one.token.hasSameBytes(as: other.token)
            && one.lastSeq == other.lastSeq
    }

    /// Without the token.
    package var description: String { "\(sessionID) after \(lastSeq)" }
}

/// Why a session isn't resumed.
package enum ResumeFailure: Hashable, Sendable, CaseIterable {
    /// There is no such session, or it has expired.
    case expired
    /// The token is wrong, or the session belongs to another identity.
    case invalid
    /// Temporary: a limit is reached, or another connection is resuming the session at this moment.
    case unavailable

    var error: DialectError {
        switch self {
        case .expired: .sessionExpired
        case .invalid: DialectError(.invalidResume, "The session can't be resumed by this client")
        case .unavailable: DialectError(.rateLimited, "The session can't be resumed now")
        }
    }

    /// For connections that are useless without their session.
    package var close: CloseReason {
        switch self {
        case .expired: .sessionExpired
        case .invalid: .invalidResume
        case .unavailable: .tooManySessions
        }
    }
}
