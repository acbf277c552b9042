import KeyStore
import WireText

/// One rule of the gate for every admission method. A policy refuses or passes a request; it never admits one.
protocol AdmissionPolicy: Sendable {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome
}

enum PolicyOutcome: Sendable {
    case passed
    /// Passed; the client presented a valid shared secret.
    case showed(SharedSecret)
    case refused(Refusal)

    static func refused(
        _ answer: RefusalAnswer, _ detail: String, _ failed: FailedCheck? = nil, retryAfter: Int? = nil
    ) -> PolicyOutcome {
        .refused(Refusal(answer, detail: detail, retryAfter: retryAfter, failed: failed))
    }
}

/// Refuses a request that opens no WebSocket, or whose subprotocols are all unknown.
struct HandshakePolicy: AdmissionPolicy {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard let fault = attempt.request.handshake.fault else { return .passed }
        return switch fault {
        case .method: .refused(.malformedHandshake, "method is not GET")
        case .httpVersion: .refused(.malformedHandshake, "HTTP/1.0")
        case .otherProtocol: .refused(.malformedHandshake, "not an upgrade to websocket")
        case .version(let received):
            .refused(
                .unsupportedVersion, "version is not 13",
                FailedCheck(.handshake, expected: "Sec-WebSocket-Version 13", received: received ?? "none"))
        case .key: .refused(.malformedHandshake, "key is not 16 bytes of base64")
        case .malformed: .refused(.malformedHandshake, "a header of the handshake is repeated or malformed")
        case .subprotocols(let offered, let known):
            .refused(
                .unknownSubprotocol, "only unknown subprotocols offered",
                FailedCheck(
                    .handshake, expected: "one of the subprotocols \(known.joined(separator: ", "))",
                    received: offered.joined(separator: ", ")))
        }
    }
}

/// Refuses new sessions while the gateway shuts down.
struct DrainingPolicy: AdmissionPolicy {
    /// Seconds; about as long as a restart takes.
    static let retryAfter = 5

    let drain: DrainSwitch

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        drain.refusesNewcomers ? .refused(.draining, "draining", retryAfter: Self.retryAfter) : .passed
    }
}

/// Refuses blocked addresses, and requests that claim a blocked identity, before a credential is verified or used up. A
/// client that falsely claims a blocked identity is refused too.
///
/// The owner of a ticket is known only after it is spent, so the gate checks every verified identity again.
struct BlockPolicy: AdmissionPolicy {
    let list: BlockLists

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        if let refusal = refusal(of: attempt.request.address) { return .refused(refusal) }
        for credential in attempt.presented {
            if let identity = credential.claim.identity, let refusal = refusal(of: identity) {
                return .refused(refusal)
            }
        }
        return .passed
    }

    func refusal(of address: IPAddress) -> Refusal? {
        list.contains(address) ? Refusal(.deviceBlocked, detail: "address is blocked") : nil
    }

    func refusal(of identity: Identity) -> Refusal? {
        list.contains(identity) ? Refusal(.deviceBlocked, detail: "identity is blocked") : nil
    }
}

/// A browser sends its client certificate for any page that opens a connection, so only pages of allowed origins are
/// accepted. Other clients send no `Origin`, and pass unless `ALLOW_MISSING_ORIGIN` is false.
///
/// The gateway's own origin is the host that the request was sent to. Over TLS the browser has compared that name with
/// the certificate. Without TLS, a proxy may have terminated TLS, so https is accepted as well.
struct OriginPolicy: AdmissionPolicy {
    let allowed: Set<WebOrigin>
    let allowsMissing: Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let request = attempt.request
        guard let text = request.origin else {
            return allowsMissing ? .passed : refused("no origin, and ALLOW_MISSING_ORIGIN is false", request)
        }
        guard let origin = WebOrigin(text) else { return refused("origin is null or malformed", request) }
        return allowed.contains(origin) || ownOrigins(of: request).contains(origin)
            ? .passed : refused("origin is not allowed", request)
    }

    private func refused(_ detail: String, _ request: AdmissionRequest) -> PolicyOutcome {
        let (origin, host) = (request.origin, request.host)
        return .refused(
            .originRefused, detail, FailedCheck(.origin, expected: expected(at: host), received: origin ?? "none"))
    }

    private func expected(at host: String?) -> String {
        let host = host.map { "the origin of \($0), to which the request was sent" } ?? "the request's own host"
        return allowed.isEmpty ? host : "\(host), or one of ALLOWED_ORIGINS"
    }

    private func ownOrigins(of request: AdmissionRequest) -> [WebOrigin] {
        guard let host = request.host else { return [] }
        return (request.isTLS ? ["https"] : ["https", "http"]).compactMap { WebOrigin($0 + "://" + host) }
    }
}

/// Refuses while all leases are taken, before any credential is used up. The lease itself is taken as the last step.
///
/// A client that claims an identity with a session may be resuming it, and may use the reserve. Its claim is verified
/// before it gets a lease.
struct CapacityPolicy: AdmissionPolicy {
    /// Seconds.
    static let retryAfter = 5

    let leases: SessionLeases
    let mayComeBack: @Sendable (Identity, IPAddress) -> Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard leases.isFull else { return .passed }
        if !leases.isFullForReturning, mayComeBack(attempt) { return .passed }
        return .refused(.atCapacity, "at MAX_SESSIONS_GLOBAL", retryAfter: Self.retryAfter)
    }

    private func mayComeBack(_ attempt: AdmissionAttempt) -> Bool {
        if attempt.chosen?.claim.isReturning == true { return true }
        let claimed = attempt.presented.lazy.compactMap(\.claim.identity).first
        return mayComeBack(claimed ?? .anonymous, attempt.request.address)
    }
}

/// Bounds guessing by address, and spares clients that share an address behind carrier NAT.
///
/// - An address with few failures isn't limited here.
/// - An address that has reached its limit of failed upgrades is refused, unless the request presents credentials. Each
///   verification is charged to the address, whatever its result. When the budget is used up, credentials aren't
///   verified. (If they are wrong, the gate answers 429.)
struct RatePolicy: AdmissionPolicy {
    let limits: UpgradeLimits
    /// If no shared secret is required, an `Authorization` header isn't a credential.
    let checksSecrets: Bool

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let (address, moment) = (attempt.request.address, attempt.request.moment)
        guard case .over(let seconds) = limits.failuresSoFar(of: address, at: moment) else { return .passed }
        let cost = cost(of: attempt)
        guard cost > 0 else {
            return .refused(
                .rateLimited, "over FAILED_UPGRADES_PER_MINUTE, no credentials", retryAfter: seconds)
        }
        switch limits.payForVerification(of: address, cost: cost, at: moment) {
        case .within: return .passed
        case .over(let seconds):
            return .refused(.rateLimited, "over the limit of verifications per second", retryAfter: seconds)
        }
    }

    /// A session's token costs a look-up even if it matches no session.
    private func cost(of attempt: AdmissionAttempt) -> Int {
        let request = attempt.request
        let showsMore = request.session != nil || checksSecrets && request.authorization != nil
        return max(attempt.chosen?.traits.cost ?? 0, showsMore ? 1 : 0)
    }
}

/// Requires one of the operator's secrets in `Authorization: Bearer <secret>` (RFC 6750 section 2.1), in addition to
/// the admission method's credential.
///
/// A request with a ticket need not repeat it, since browsers can't: the ticket replaces the secret that was presented
/// for it, and the gate rechecks that secret. The same applies to a session's token. A secret that is presented must be
/// valid.
struct SharedSecretPolicy: AdmissionPolicy {
    private static let scheme = "bearer"

    let secrets: SharedSecrets

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let request = attempt.request
        guard let authorization = request.authorization else {
            // For a token that matches no session, a later check tells the client so.
            let standsForSecret = attempt.chosen?.claim.standsForSecret ?? (request.session != nil)
            return standsForSecret ? .passed : .refused(.sharedSecretRequired, "no Authorization header")
        }
        guard let text = Self.credentials(in: authorization) else {
            return .refused(.invalidSharedSecret, "Authorization header has another scheme or is empty")
        }
        guard let secret = secrets.secret(shownAs: text) else {
            return .refused(.invalidSharedSecret, "shared secret is unknown")
        }
        return .showed(secret)
    }

    /// The text after the scheme and at least one space (RFC 9110 section 11.4).
    private static func credentials(in authorization: String) -> String? {
        let parts = authorization.splitAtBytes(maxSplits: 1) { $0 == 0x20 }
        guard parts.count == 2, ASCIIByte.isSame(parts[0], scheme) else { return nil }
        let credentials = parts[1].utf8.drop { $0 == 0x20 }
        return credentials.isEmpty ? nil : String(Substring(credentials))
    }
}

/// A route may be restricted to some admission methods (`admit=`). Most credentials claim their method, and aren't used
/// up if the route doesn't allow it. Tickets don't; the ticket method itself doesn't spend a ticket that the route
/// doesn't allow.
struct RoutePolicy: AdmissionPolicy {
    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        guard let method = attempt.chosen?.claim.method, let refusal = Self.refusal(of: method, attempt.request) else {
            return .passed
        }
        return .refused(refusal)
    }

    static func refusal(of method: MethodName, _ request: AdmissionRequest) -> Refusal? {
        request.allows(method)
            ? nil
            : Refusal(
                .wayNotAllowed, detail: "the route doesn't allow \(method.route ?? method.label)",
                failed: .route(method, request))
    }
}

extension FailedCheck {
    static func route(_ method: MethodName, _ request: AdmissionRequest) -> FailedCheck {
        let allowed = (request.allowedMethods ?? []).sorted().joined(separator: " or ")
        return FailedCheck(.route, expected: "\(allowed) (admit=)", received: method.route ?? method.label)
    }
}
