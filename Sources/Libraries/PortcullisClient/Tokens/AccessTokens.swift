public import Foundation

/// The second dialect: one assertion buys an access token for some minutes, and a proof goes with each request.
///
/// ```swift
/// let headers = try await client.tokens.authorizationHeaders(for: "api/hello", method: .get)
/// let response = try await client.tokens.performRequest(path: "api/hello", method: .get)
/// ```
///
/// The token is in memory only. It is renewed a minute before its end, once for all who wait for it.
public actor AccessTokens {
    private let issuer: any TokenSource
    private let caller: GateCaller
    private let clock: any ClientClock
    private let scheme: AuthorizationScheme
    private let attempts: OperationGuard
    private let flight = SingleFlight<AccessToken>()
    private var cache = TokenCache()
    /// Counts what replaces or forgets the token besides its renewal.
    private var changes = 0

    init(
        _ issuer: any TokenSource, _ caller: GateCaller, _ configuration: GateConfiguration, _ clock: any ClientClock,
        attempts: OperationGuard
    ) {
        (self.issuer, self.caller, self.clock, self.attempts) = (issuer, caller, clock, attempts)
        scheme = configuration.authorizationScheme
    }

    // MARK: For requests of the app

    /// `Authorization` and `DPoP` for one request to a path below the base URL, with any HTTP client.
    ///
    /// - Parameters:
    ///   - path: for instance `api/hello`; a query may follow.
    ///   - method: of the request.
    ///   - nonce: ``dpopNonce(from:)-(GateResponse)`` of a 401, for the second attempt. nil: the last one that this
    ///     server has sent.
    /// - Returns: good for one request: a proof can't be used twice.
    public func authorizationHeaders(
        for path: String, method: HTTPMethod, nonce: String? = nil
    ) async throws(GateError) -> [String: String] {
        do {
            return try await headers(try caller.address.url(path), method: method, nonce: nonce)
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// The same for a URL of another server that accepts this gate's tokens.
    ///
    /// > Warning: That server gets the token. Without the device key it is of no use to anyone, but don't send it to
    /// strangers.
    public func authorizationHeaders(
        for url: URL, method: HTTPMethod, nonce: String? = nil
    ) async throws(GateError) -> [String: String] {
        do {
            _ = try GateAddress(url.absoluteString.withoutQuery)
            return try await headers(url.absoluteString, method: method, nonce: nonce)
        } catch {
            throw GateError(wrapping: error)
        }
    }

    private func headers(_ url: String, method: HTTPMethod, nonce: String?) async throws -> [String: String] {
        if let nonce { await issuer.keep(nonce: nonce, of: url) }
        let token = try await token()
        let fields = try await fields(token, url: url, method: method)
        return Dictionary(fields.fields.map { ($0.name, $0.value) }) { $1 }
    }

    /// Sends a request to a service behind the gate, and repeats it once with the server's nonce, or with a new token,
    /// if the answer asks for that. Nothing else is repeated, and no redirection is followed.
    ///
    /// - Parameters:
    ///   - path: below the base URL; a query may follow.
    ///   - method: of the request.
    ///   - body: nil: none.
    ///   - additionalHeaders: beside `Authorization` and `DPoP`, which can't be replaced.
    /// - Returns: the answer, whatever its status is: ``GateResponse/refusal`` says what a refusal means.
    public func performRequest(
        path: String, method: HTTPMethod, body: Data? = nil, additionalHeaders: [String: String] = [:]
    ) async throws(GateError) -> GateResponse {
        do {
            return try await perform(try caller.address.url(path), method, body, additionalHeaders)
        } catch {
            throw GateError(wrapping: error)
        }
    }

    /// The same for a URL of another server that accepts this gate's tokens: see the warning at
    /// ``authorizationHeaders(for:method:nonce:)-(URL,_,_)``.
    public func performRequest(
        url: URL, method: HTTPMethod, body: Data? = nil, additionalHeaders: [String: String] = [:]
    ) async throws(GateError) -> GateResponse {
        do {
            _ = try GateAddress(url.absoluteString.withoutQuery)
            return try await perform(url.absoluteString, method, body, additionalHeaders)
        } catch {
            throw GateError(wrapping: error)
        }
    }

    private func perform(
        _ url: String, _ method: HTTPMethod, _ body: Data?, _ additionalHeaders: [String: String]
    ) async throws -> GateResponse {
        let others = try AppHeaders.checked(additionalHeaders)
        return try await authorized(url, method) { [caller] fields in
            let request = GateRequest(
                method.rawValue, url, headers: HeaderFields(fields.fields + others), body: body,
                maximumBytes: caller.limits.serviceBodyBytes)
            return try await caller.call(request, within: caller.limits.serviceRequest)
        } answer: {
            $0
        }
    }

    /// The server's nonce in an answer, if it has one that can be used.
    public nonisolated func dpopNonce(from response: GateResponse) -> String? {
        response.headers[TokenIssuer.nonceField].flatMap { ServerNonces.isValid($0) ? $0 : nil }
    }

    /// The same for header fields of another HTTP client.
    public nonisolated func dpopNonce(from headers: [String: String]) -> String? {
        dpopNonce(from: GateResponse(status: 401, headers: HeaderFields(headers.map { ($0.key, $0.value) })))
    }

    // MARK: State

    /// Forgets the access token. The keys stay.
    public func clearCachedState() {
        changes += 1
        cache.clear()
    }

    /// Forgets the access token and the App Attest key. The next use makes and registers a new one.
    public func clearAttestKey() async {
        clearCachedState()
        await issuer.key.clear()
    }

    /// The token in memory came from a development token (`"mode": "dev"`); nil without a token.
    public var isDevelopment: Bool? { cache.fresh(at: clock.now)?.isDevelopment }

    /// Whether there is a token that isn't about to end.
    var isHeld: Bool { fresh != nil }

    /// Takes a token that was got in another way than by its source.
    ///
    /// - Parameter requested: when it was asked for, in seconds of the client's clock.
    func keep(_ answer: TokenIssuer.Answer, requested: Double) {
        changes += 1
        _ = cache.keep(
            answer.text, lifetime: answer.lifetime, requested: requested, isDevelopment: answer.isDevelopment)
    }

    /// Brings a token, if there is none.
    func bring() async throws { _ = try await token() }

    private func token() async throws -> AccessToken {
        if let token = cache.fresh(at: clock.now) { return token }
        return try await flight.run { [self] in
            if let token = await fresh { return token }
            return try await attempts.run { try await self.renew() }
        }
    }

    private var fresh: AccessToken? { cache.fresh(at: clock.now) }

    /// What was begun before a sign-in or a log-out isn't used after it.
    private func renew() async throws -> AccessToken {
        let (requested, changes) = (clock.now, changes)
        let answer = try await issuer.newToken()
        guard changes == self.changes else {
            if let fresh { return fresh }
            return try await renew()
        }
        return cache.keep(
            answer.text, lifetime: answer.lifetime, requested: requested, isDevelopment: answer.isDevelopment)
    }

    private func fields(_ token: AccessToken, url: String, method: HTTPMethod) async throws -> HeaderFields {
        let proof = try await issuer.proof(method.rawValue, url, accessToken: token.text)
        return ["Authorization": "\(scheme.rawValue) \(token.text)", TokenIssuer.proofField: proof]
    }
}

// MARK: Repeated requests

extension AccessTokens {
    /// Sends something with a token, and repeats it if a 401 asks for it: once for a nonce, once for a new token.
    ///
    /// - Parameter answer: the HTTP answer in a result.
    private func authorized<Answer: Sendable>(
        _ url: String, _ method: HTTPMethod, send: @Sendable (HeaderFields) async throws -> Answer,
        answer response: @Sendable (Answer) -> GateResponse?
    ) async throws -> Answer {
        var tried: Set<Reaction> = []
        while true {
            let token = try await token()
            let result = try await send(try await fields(token, url: url, method: method))
            guard let response = response(result) else { return result }
            if let nonce = dpopNonce(from: response) { await issuer.keep(nonce: nonce, of: url) }
            guard let reaction = Self.reaction(to: response), tried.insert(reaction).inserted else { return result }
            if reaction == .newToken { cache.discard(token) }
        }
    }

    /// Sends JSON to a path of the gate itself.
    func send(_ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil) async throws -> GateResponse {
        try await authorized(try caller.address.url(path), method) { [caller] fields in
            var headers = fields
            if body != nil { headers.add("Content-Type", "application/json") }
            return try await caller.send(method.rawValue, path, headers: headers, body: body.map { Data($0) })
        } answer: {
            $0
        }
    }

    /// What a repetition needs; nil if there is none.
    private static func reaction(to response: GateResponse) -> Reaction? {
        guard response.status == 401 else { return nil }
        if response.refusal?.reaction == .newToken { return .newToken }
        return response.headers[TokenIssuer.nonceField].map(ServerNonces.isValid) == true ? .useNonce : nil
    }

    /// Opens a WebSocket with a token.
    func open(
        _ url: String, _ attempt: @escaping @Sendable (HeaderFields) async throws -> any WebSocketChannel
    ) async throws -> any WebSocketChannel {
        enum Outcome: Sendable {
            case open(any WebSocketChannel)
            case refused(GateResponse)
        }
        let outcome = try await authorized(url, .get) { fields -> Outcome in
            do { return .open(try await attempt(fields)) } catch let refused as UpgradeRefusal {
                return .refused(refused.response)
            }
        } answer: {
            if case .refused(let response) = $0 { response } else { nil }
        }
        switch outcome {
        case .open(let channel): return channel
        case .refused(let response): throw caller.error(for: response)
        }
    }
}

extension GateResponse {
    /// What a refusal means; nil for an answer below 400.
    public var refusal: Refusal? {
        guard status >= 400 else { return nil }
        return RefusalReader.refusal(
            status: status, header: { headers[$0] }, body: Array(body.prefix(ClientLimits.gateBodyBytes)),
            maximumBytes: ClientLimits.gateBodyBytes)
    }
}
