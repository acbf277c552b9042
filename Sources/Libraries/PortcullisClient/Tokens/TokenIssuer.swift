import Foundation

/// Gets access tokens: challenge, registration if needed, and `POST /token`. It also signs proofs, because it has the
/// device key.
actor TokenIssuer: TokenSource {
    static let proofField = "DPoP"
    static let nonceField = "DPoP-Nonce"
    /// What a token may have in a header field (RFC 6750 section 2.1), and no more.
    static let maximumTokenBytes = 8_192

    struct Answer: Sendable {
        let text: String
        let lifetime: Int
        let isDevelopment: Bool
        /// The successor, or the first one, with players' tokens.
        var refreshToken: RefreshToken?
    }

    nonisolated let key: AttestedKey
    private let deviceKey: DeviceKeyCustody
    private let caller: GateCaller
    private let configuration: GateConfiguration
    private let clock: any ClientClock
    private var nonces = ServerNonces()

    init(
        _ key: AttestedKey, _ deviceKey: DeviceKeyCustody, _ caller: GateCaller, _ configuration: GateConfiguration,
        _ clock: any ClientClock
    ) {
        (self.key, self.deviceKey, self.caller) = (key, deviceKey, caller)
        (self.configuration, self.clock) = (configuration, clock)
    }

    // MARK: Proofs

    func keep(nonce: String, of url: String) { nonces.keep(nonce, of: url.origin) }

    func proof(_ method: String, _ url: String, accessToken: String? = nil) async throws -> String {
        let claims = ProofSigner.Claims(
            method: method, url: url, time: Int(clock.date.timeIntervalSince1970), identifier: UUID().uuidString,
            nonce: nonces[url.origin], accessToken: accessToken)
        return try await deviceKey.key().proof(claims)
    }

    // MARK: Tokens

    func newToken() async throws -> Answer {
        if let token = configuration.developmentToken {
            return try await exchange(TokenBody(configuration, .developmentToken(token)))
        }
        do {
            return try await attestedToken()
        } catch let error as GateError where error.refusal?.reaction == .newChallenge {
            return try await attestedToken()
        }
    }

    /// One challenge serves the registration and the token.
    private func attestedToken() async throws -> Answer {
        let challenges = ChallengeShelf(caller, clock)
        return try await key.use(registeredBy: registration(challenges)) { [self] identifier in
            let challenge = try await challenges.take()
            let hash = try await deviceKey.key().clientDataHash(challenge: challenge.bytes)
            let assertion = try await key.assert(identifier, clientDataHash: hash)
            await challenges.drop()
            return try await exchange(
                TokenBody(configuration, .assertion(assertion, key: identifier, challenge: challenge.text)))
        }
    }

    private nonisolated func registration(_ challenges: ChallengeShelf) -> KeyRegistration {
        KeyRegistration { [deviceKey] in
            await challenges.drop()
            let challenge = try await challenges.take()
            return (challenge, try await deviceKey.key().clientDataHash(challenge: challenge.bytes))
        } send: { [weak self] identifier, challenge, attestation in
            guard let self else { throw CancellationError() }
            try await register(identifier, challenge, attestation)
        }
    }

    private func register(_ identifier: String, _ challenge: HeldChallenge, _ attestation: [UInt8]) async throws {
        let body = TokenBody(configuration, .attestation(attestation, key: identifier, challenge: challenge.text))
        let members = try caller.members(of: try await post("/attest/register", body.json))
        guard members.boolean("registered") == true else { throw GateError.malformedAnswer(.member("registered")) }
    }

    private func exchange(_ body: TokenBody) async throws -> Answer {
        let members = try caller.members(of: try await post("/token", body.json))
        return try Self.answer(members, token: "access_token", lifetime: "expires_in")
    }

    private static func answer(
        _ members: JSONMembers, token: StaticString, lifetime: StaticString
    ) throws -> Answer {
        guard let text = members.string(token), (1...maximumTokenBytes).contains(text.utf8.count),
            text.utf8.allSatisfy(\.isVisibleASCII)
        else { throw GateError.malformedAnswer(.member("\(token)")) }
        guard let seconds = members.integer(lifetime), seconds >= 0 else {
            throw GateError.malformedAnswer(.member("\(lifetime)"))
        }
        return Answer(
            text: text, lifetime: Int(min(seconds, Int64(TokenCache.longestLife))),
            isDevelopment: members.string("mode").map { $0.isSame(as: "dev") } ?? false)
    }

    // MARK: Players

    /// The server's, in seconds since 1970, as far as it is known.
    nonisolated var serverTime: Double { caller.serverTime }

    /// Of the device key: a passkey's challenge is bound to it.
    func thumbprint() async throws -> String { BinaryText.base64URL(try await deviceKey.key().thumbprint) }

    /// Exchanges what a passkey has signed for tokens of its account.
    func signIn(with credential: PasskeyCredential) async throws -> Answer {
        try await pair(AccountPath.signIn, credential.bytes)
    }

    /// Exchanges an assertion of a device that has joined.
    func signIn(withDevice body: [UInt8]) async throws -> Answer { try await pair(AccountPath.deviceSignIn, body) }

    /// Uses a refresh token. The successor has to be stored before anything else is done with the answer.
    func refresh(_ token: String) async throws -> Answer {
        try await pair(AccountPath.refresh, JSONText.object { $0.add("refreshToken", token) })
    }

    private func pair(_ path: String, _ body: [UInt8]) async throws -> Answer {
        let members = try caller.members(of: try await post(path) { _, _ in body })
        var answer = try Self.answer(members, token: "accessToken", lifetime: "expiresIn")
        answer.refreshToken = try Self.refreshToken(members, at: caller.serverTime)
        return answer
    }

    private static func refreshToken(_ members: JSONMembers, at time: Double) throws -> RefreshToken? {
        guard members["refreshToken"] != nil else { return nil }
        guard let text = members.string("refreshToken"), RefreshToken.bytes.contains(text.utf8.count),
            text.utf8.allSatisfy(\.isVisibleASCII)
        else { throw GateError.malformedAnswer(.member("refreshToken")) }
        guard members["refreshExpiresIn"] != nil else { return RefreshToken(text: text, end: nil) }
        guard let seconds = members.integer("refreshExpiresIn"), seconds >= 0 else {
            throw GateError.malformedAnswer(.member("refreshExpiresIn"))
        }
        return RefreshToken(text: text, end: time + Double(min(seconds, Int64(RefreshToken.longestLife))))
    }

    // MARK: Requests with a proof

    /// A body, with the key and the proof that is in its field `DPoP`.
    private typealias Body = @Sendable (_ key: ProofSigner, _ proof: String) -> [UInt8]

    /// Sends a body with a proof. If the server demands a nonce it is sent once more, with the same evidence and
    /// another proof.
    private func post(_ path: String, _ body: Body) async throws -> GateResponse {
        let response = try await sendOnce(path, body)
        guard Self.demandsNonce(response), let nonce = response.headers[Self.nonceField], ServerNonces.isValid(nonce)
        else { return response }
        keep(nonce: nonce, of: caller.address.origin)
        return try await sendOnce(path, body)
    }

    /// RFC 9449 section 8 has 400 here, and clients of this dialect know 401 alone.
    private static func demandsNonce(_ response: GateResponse) -> Bool {
        response.status == 401 || response.status == 400 && response.refusal?.reaction == .useNonce
    }

    private func sendOnce(_ path: String, _ body: Body) async throws -> GateResponse {
        let key = try await deviceKey.key()
        let proof = try await proof("POST", try caller.address.url(path))
        let response = try await caller.post(path, body(key, proof), headers: [Self.proofField: proof])
        if response.status == 200, let nonce = response.headers[Self.nonceField] {
            keep(nonce: nonce, of: caller.address.origin)
        }
        return response
    }
}

/// The challenge of one exchange: fetched when it is first needed, and again when it was used up or has become old.
private actor ChallengeShelf {
    private let caller: GateCaller
    private let clock: any ClientClock
    private var challenge: HeldChallenge?

    init(_ caller: GateCaller, _ clock: any ClientClock) { (self.caller, self.clock) = (caller, clock) }

    func take() async throws -> HeldChallenge {
        if let challenge, challenge.isUsable(at: clock.now) { return challenge }
        let fetched = try await fetch()
        challenge = fetched
        return fetched
    }

    func drop() { challenge = nil }

    private func fetch() async throws -> HeldChallenge {
        let local = clock.date.timeIntervalSince1970
        let response = try await caller.post("/attest/challenge", Array(#"{"purpose":"token"}"#.utf8))
        let members = try caller.members(of: response)
        guard let text = members.string("nonce"), text.utf8.count <= 128,
            let bytes = BinaryText.bytes(base64: text.utf8), (16...64).contains(bytes.count)
        else { throw GateError.malformedAnswer(.member("nonce")) }
        return HeldChallenge(
            text, bytes: bytes, expiry: members.integer("exp").map(Double.init),
            serverTime: response.headers["Date"].flatMap { TimeText.seconds(httpDate: $0) }.map(Double.init),
            localTime: local, received: clock.now)
    }
}
