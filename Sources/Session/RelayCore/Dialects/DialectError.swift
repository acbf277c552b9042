import StrictJSON

/// Why a client's message or request was refused, in the words sent to the client.
struct DialectError: Error, Hashable, Sendable {
    /// The codes of the typed protocol; other dialects that have error messages use them too.
    enum Code: String, Hashable, Sendable {
        case invalidRequest = "invalid_request"
        case sessionExpired = "session_expired"
        case invalidResume = "invalid_resume"
        case connectionFailed = "connection_failed"
        case rateLimited = "rate_limited"
    }

    let code: Code
    /// The invalid field of the message.
    let field: String?
    let message: String
    /// Nil: the connection goes on.
    let close: CloseReason?
    /// The number of the refused input, if it has one.
    private(set) var cid: UInt64?

    init(_ code: Code, field: String? = nil, _ message: String, close: CloseReason? = nil) {
        self.code = code
        self.field = field
        self.message = message
        self.close = close
    }

    static let malformedJSON = DialectError(.invalidRequest, "Message is not valid JSON")
    static let tooDeep = DialectError(.invalidRequest, "Message is nested too deeply")
    static let tooLarge = DialectError(.invalidRequest, "Message is too large")
    static let notAnObject = DialectError(.invalidRequest, "Message must be a JSON object")
    static let noSession = DialectError(.invalidRequest, "This connection has no session")
    static let alreadyConnected = DialectError(.invalidRequest, "This connection already has a session")
    static let sessionExpired = DialectError(.sessionExpired, "The session has expired")
    static let notMSDP = DialectError(
        .invalidRequest, "MSDP has no form for this: a name is empty, or tables are too deep")
    static let notBase64 = DialectError(.invalidRequest, field: "data", "data must be base64")
    static let notInForce = DialectError(.invalidRequest, "The target doesn't take out-of-band messages")
    static let tooEarly = DialectError(.invalidRequest, "Too much was sent before the target was connected")

    /// - Parameter name: graphic ASCII, of a bounded length.
    static func own(_ name: String) -> DialectError {
        DialectError(.invalidRequest, "Unknown message: \(name)")
    }

    init(_ error: JSONDefect) {
        self = error == .tooDeep ? .tooDeep : .malformedJSON
    }

    func answering(cid: UInt64?) -> DialectError {
        var error = self
        error.cid = cid
        return error
    }

    func answering(_ command: ClientCommand) -> DialectError {
        if case .input(_, let cid) = command { answering(cid: cid) } else { self }
    }
}

/// Why a session with the target didn't begin.
package enum DialFailure: Hashable, Sendable, CaseIterable {
    case unreachable
    case timedOut
    /// The target was reached but TLS with it failed: it isn't trusted or doesn't support TLS.
    case notSecured
    /// The target policy refused it. The reason stays internal: a client could use it to probe a network.
    case notAllowed
    /// The same, if the client named a route.
    case routeNotAllowed
    /// The port that the client named isn't in `TARGET_PORTS`, whatever the host is.
    case portNotAllowed
    /// The client's identity or address has reached its limit of sessions.
    case limited

    var error: DialectError {
        switch self {
        case .unreachable: DialectError(.connectionFailed, "Could not connect to the MUD server")
        case .timedOut: DialectError(.connectionFailed, "The connection to the MUD server timed out")
        case .notSecured: DialectError(.connectionFailed, "The secure connection to the MUD server failed")
        case .portNotAllowed: DialectError(.invalidRequest, field: "port", "port is not allowed")
        case .notAllowed: DialectError(.invalidRequest, field: "host", "host is not allowed")
        case .routeNotAllowed: DialectError(.invalidRequest, field: "target", "target is not allowed")
        case .limited: DialectError(.rateLimited, "Connection limit exceeded for this IP address")
        }
    }

    /// For dialects whose connection is useless without its session.
    var close: CloseReason {
        switch self {
        case .unreachable: .targetUnreachable
        case .timedOut: .targetTimedOut
        case .notSecured: .targetNotSecured
        case .notAllowed, .routeNotAllowed, .portNotAllowed: .targetNotAllowed
        case .limited: .tooManySessions
        }
    }
}
