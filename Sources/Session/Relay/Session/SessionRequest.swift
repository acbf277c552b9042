import Admission
import HTTPWire
import Reactors
import RelayCore
import WireText

/// The upgrade's own parameters for its session.
struct SessionRequest: Sendable {
    /// The target, unless the dialect's messages name one.
    let target: TargetRequest
    /// The client's description in the query: size, name, terminal.
    let client: ClientDescription
    /// The dialect of a client that offers no subprotocol; it takes precedence over the gateway's default.
    let dialect: DialectKind?
    /// An existing session to resume.
    let resume: ResumeRequest?
}

extension SessionRequest {
    /// `/` and `/mud/<name>`, with the parameters `target`, `dialect`, `cols`, `rows`, `client` and `ttype`, and to
    /// resume a session `session`, `token` and `lastSeq`.
    ///
    /// - Returns: nil for any other path, if the route is named twice, if the dialect is unknown, and if a session to
    ///   be resumed is named in part.
    init?(_ head: RequestHead) {
        let query = RequestQuery(head.query)
        switch (RequestPath(head), query["target"]) {
        case (.root, .absent): target = .standard
        case (.root, .value(let name)), (.mud(let name), .absent): target = .route(name)
        default: return nil
        }
        switch query["dialect"] {
        case .absent: dialect = nil
        case .value(let name):
            guard let kind = DialectKind(word: name) else { return nil }
            dialect = kind
        case .malformed: return nil
        }
        client = ClientDescription { name in
            if case .value(let text) = query[name] { text } else { nil }
        }
        switch (query["session"], query["token"], query["lastSeq"]) {
        case (.absent, .absent, .absent): resume = nil
        case (.value(let id), .value(let token), .value(let seen)):
            guard let lastSeq = UInt64(seen) else { return nil }
            resume = ResumeRequest(sessionID: id, token: token, lastSeq: lastSeq)
        default: return nil
        }
    }
}

extension TargetDecision {
    /// Some methods are admitted only by routes that name them.
    func admitting(_ method: MethodName) -> TargetDecision {
        if case .authorized = self, method.isOnlyByName, methods == nil { return .refused(.wayNotAllowed) }
        return admitting(method.route ?? "")
    }
}

extension SessionIdentity {
    /// A UUID of version 4 (RFC 9562).
    static func randomID() -> String {
        var bytes = RandomBytes.make(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Hexadecimal.encode(bytes)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            String(digits.dropFirst(range.lowerBound).prefix(range.count))
        }
        return groups.joined(separator: "-")
    }
}

extension DialFailure {
    init(_ error: TCPError) {
        switch error {
        case .timedOut: self = .timedOut
        case .notAllowed: self = .notAllowed
        case .notSecured: self = .notSecured
        case .notResolved, .notConnected, .broken: self = .unreachable
        }
    }
}

extension DialFailure {
    /// The client may be told about a wrong port: it is checked before the host, so it reveals nothing about the host.
    init(_ refusal: TargetRefusal, of request: TargetRequest) {
        if request.isRoute {
            self = .routeNotAllowed
        } else {
            self = refusal == .portNotListed ? .portNotAllowed : .notAllowed
        }
    }
}

extension CloseReason {
    /// A few words for the client; the exact error is in the log.
    init(_ error: TCPError) {
        switch error {
        case .timedOut: self = .targetTimedOut
        case .notSecured: self = .targetNotSecured
        case .notResolved, .notConnected, .notAllowed: self = .targetUnreachable
        case .broken: self = .targetLost
        }
    }
}
