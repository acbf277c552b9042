/// A client asks for the session that it had.
package struct ResumeRequest: Hashable, Sendable, CustomStringConvertible {
    package let sessionID: String
    package let token: String
    /// The last number that the client has seen; 0: it wants everything that there is.
    package let lastSeq: UInt64

    package init(sessionID: String, token: String, lastSeq: UInt64) {
        self.sessionID = sessionID
        self.token = token
        self.lastSeq = lastSeq
    }

    /// The parameters `session`, `token` and `lastSeq` of a query, for dialects that have no message for it. nil without `session`.
    ///
    /// A token that is missing is none that fits. A `lastSeq` that makes no sense asks for everything: the answer says where it begins.
    ///
    /// - Parameter parameter: the decoded value of the parameter with this name; nil where it is absent or malformed.
    package init?(parameter: (String) -> String?) {
        guard let sessionID = parameter("session") else { return nil }
        let lastSeq = parameter("lastSeq").flatMap(UInt64.init) ?? 0
        self.init(sessionID: sessionID, token: parameter("token") ?? "", lastSeq: lastSeq)
    }

    /// Without the token.
    package var description: String { "\(sessionID) after \(lastSeq)" }
}

/// Why a session isn't resumed.
package enum ResumeFailure: Hashable, Sendable, CaseIterable {
    /// There is no such session, or no longer.
    case expired
    /// The token is wrong, or the session another identity's.
    case invalid
    /// Not now: a limit is reached, or the session is just being resumed by another connection.
    case unavailable

    var error: DialectError {
        switch self {
        case .expired: .sessionExpired
        case .invalid: DialectError(.invalidResume, "The session can't be resumed by this client")
        case .unavailable: DialectError(.rateLimited, "The session can't be resumed now")
        }
    }

    /// For connections that have no use without their session.
    package var close: CloseReason {
        switch self {
        case .expired: .sessionExpired
        case .invalid: .invalidResume
        case .unavailable: .tooManySessions
        }
    }
}
