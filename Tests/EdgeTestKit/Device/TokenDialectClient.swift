import AppAttest
import Crypto
package import DeviceSimulation
package import Foundation

/// A client of the token dialect as apps have it: the same requests with the same members, the same decoding, the same
/// retries.
///
/// It knows nothing about the gateway: it attests once, exchanges an assertion for an access token, keeps that until a
/// minute before its end, and sends `Bearer` with a proof that has no `ath`. It keeps no server nonce. A simulated key
/// service replaces `DCAppAttestService`, and variables replace the Keychain.
package actor TokenDialectClient {
    /// One request with its answer, for tests that compare what is sent.
    package struct Exchange: Sendable {
        package let path: String
        package let body: Data
        package let proof: String?
        package let answer: ReceivedAnswer
    }

    private let gateway: GatewayProcess
    private let tls: TLSChoice?
    private let app: (bundleID: String, teamID: String)
    private let service: SimulatedKeyService
    private let developmentToken: String?
    package let deviceKey = SimulatedProofKey()
    /// Added to the device's clock, in seconds.
    private let clockOffset: TimeInterval

    private var keyID: String?
    private var isAttested = false
    private var cached: (token: String, expiry: Date)?
    private var minting: Task<String, any Error>?
    package private(set) var exchanges: [Exchange] = []

    package init(
        _ gateway: GatewayProcess, _ apple: SimulatedApple, tls: TLSChoice?, developmentToken: String? = nil,
        clockOffset: TimeInterval = 0
    ) {
        (self.gateway, self.tls) = (gateway, tls)
        app = (apple.app.bundleID, apple.app.teamID)
        service = SimulatedKeyService(apple: apple)
        (self.developmentToken, self.clockOffset) = (developmentToken, clockOffset)
    }

    package var baseURL: String { "\(gateway.isTLS ? "https" : "http")://localhost:\(gateway.port)" }

    /// Forgets the token in memory, as a new start of the app does.
    package func clearCachedState() { cached = nil }

    // MARK: Tokens

    package func currentAccessToken() async throws -> String {
        if let cached, cached.expiry.timeIntervalSince(Date()) > 60 { return cached.token }
        if let minting { return try await minting.value }
        let task = Task { try await mint() }
        minting = task
        defer { minting = nil }
        return try await task.value
    }

    private func mint() async throws -> String {
        let response =
            if let developmentToken { try await exchangeDevelopmentToken(developmentToken) } else {
                try await exchangeAssertion()
            }
        cached = (response.accessToken, Date().addingTimeInterval(TimeInterval(response.expiresIn)))
        return response.accessToken
    }

    private func exchangeAssertion() async throws -> TokenResponse {
        for attempt in 1...2 {
            let wasAttested = isAttested
            do {
                return try await assertOnce()
            } catch let error as ServerError where attempt == 1 && wasAttested && error.isRegistrationRequired {
                keyID = nil
                isAttested = false
            } catch let error as ServerError where !wasAttested {
                // On a first run the app sees only the description.
                throw AttestationFailed(message: error.description ?? error.error)
            }
        }
        throw AttestationFailed(message: "no attempt is left")
    }

    private func assertOnce() async throws -> TokenResponse {
        let challenge = try await fetchChallenge()
        let keyID = try await ensureKeyID()
        let hash = clientDataHash(challenge.nonce)
        if !isAttested {
            let attestation = try await service.attestKey(keyID, clientDataHash: hash)
            try await register(keyID, attestation, nonce: challenge.nonce)
            isAttested = true
        }
        let assertion = try await service.generateAssertion(keyID, clientDataHash: hash)
        let evidence = Attestation(
            keyId: keyID, teamId: app.teamID, attestation: nil, assertion: assertion.base64EncodedString())
        return try await exchange {
            TokenBody(
                app: .init(bundleId: $0), deviceKeyJwk: $1, attestation: evidence, nonce: challenge.nonce, dpop: $2)
        }
    }

    private func exchangeDevelopmentToken(_ token: String) async throws -> TokenResponse {
        try await exchange { TokenBody(app: .init(bundleId: $0), deviceKeyJwk: $1, devToken: token, dpop: $2) }
    }

    private func fetchChallenge() async throws -> ChallengeResponse {
        let answer = try await post("/attest/challenge", Data(#"{"purpose":"token"}"#.utf8), proof: nil)
        return try decode(ChallengeResponse.self, answer)
    }

    private func ensureKeyID() async throws -> String {
        if let keyID { return keyID }
        let made = try await service.generateKey()
        keyID = made
        return made
    }

    /// There is no retry with a nonce here.
    private func register(_ keyID: String, _ attestation: Data, nonce: String) async throws {
        let proof = try proof("POST", baseURL + "/attest/register")
        let evidence = Attestation(
            keyId: keyID, teamId: app.teamID, attestation: attestation.base64EncodedString(), assertion: nil)
        let body = TokenBody(
            app: .init(bundleId: app.bundleID), deviceKeyJwk: deviceKey.jwk, attestation: evidence, nonce: nonce,
            dpop: proof)
        _ = try decode(
            RegistrationResponse.self, try await post("/attest/register", try Self.encode(body), proof: proof))
    }

    /// On 401 with `DPoP-Nonce` the same body is sent once more, with another proof.
    private func exchange(
        _ body: (_ bundleID: String, SimulatedJWK, _ proof: String) -> TokenBody
    ) async throws -> TokenResponse {
        let url = baseURL + "/token"
        var proof = try proof("POST", url)
        var encoded = try Self.encode(body(app.bundleID, deviceKey.jwk, proof))
        var answer = try await post("/token", encoded, proof: proof)
        if answer.status == 401, let nonce = answer["DPoP-Nonce"] {
            proof = try self.proof("POST", url, nonce: nonce)
            encoded = try Self.encode(body(app.bundleID, deviceKey.jwk, proof))
            answer = try await post("/token", encoded, proof: proof)
        }
        return try decode(TokenResponse.self, answer)
    }

    /// SHA-256 over the challenge's bytes and the SHA-256 of the canonical JWK.
    private func clientDataHash(_ nonce: String) -> Data {
        let jwk = deviceKey.jwk
        let canonical = #"{"crv":"\#(jwk.crv)","kty":"\#(jwk.kty)","x":"\#(jwk.x)","y":"\#(jwk.y)"}"#
        return Data(SHA256.hash(data: Self.bytes(ofNonce: nonce) + SHA256.hash(data: Data(canonical.utf8))))
    }

    /// base64url, else base64, else UTF-8.
    private static func bytes(ofNonce nonce: String) -> Data {
        var symbols = nonce.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        symbols += String(repeating: "=", count: (4 - symbols.count % 4) % 4)
        return Data(base64Encoded: symbols) ?? Data(base64Encoded: nonce) ?? Data(nonce.utf8)
    }
}

// MARK: Requests to resources

extension TokenDialectClient {
    /// The two fields for a request with any HTTP client.
    package func authorizationHeaders(
        for path: String, method: String, nonce: String? = nil, scheme: String = "https"
    ) async throws -> [String: String] {
        let token = try await currentAccessToken()
        let base = scheme == "https" ? baseURL : scheme + baseURL.drop { $0 != ":" }
        return ["Authorization": "Bearer \(token)", "DPoP": try proof(method, base + path, nonce: nonce)]
    }

    /// Opens a WebSocket; once more with the nonce of a 401.
    package func openWebSocket(_ path: String = "/", scheme: String = "wss") async throws -> TestWebSocket {
        var nonce: String?
        for attempt in 1...2 {
            var handshake = try await Handshake(host: "localhost:\(gateway.port)")
                .adding(authorizationHeaders(for: path, method: "GET", nonce: nonce, scheme: scheme))
            handshake.path = path
            switch try await gateway.attempt(handshake, tls: tls) {
            case .open(let socket): return socket
            case .refused(let answer, _):
                nonce = answer["DPoP-Nonce"]
                guard attempt == 1, answer.status == 401, nonce != nil else {
                    throw EdgeTestError("the upgrade was refused: \(answer)")
                }
            }
        }
        throw EdgeTestError("no attempt is left")
    }

    private func proof(_ method: String, _ url: String, nonce: String? = nil) throws -> String {
        try deviceKey.sign(
            SimulatedProof(
                method: method, url: url, time: Date() + clockOffset, id: UUID().uuidString, nonce: nonce))
    }

    private func post(_ path: String, _ body: Data, proof: String?) async throws -> ReceivedAnswer {
        let head = """
            POST \(path) HTTP/1.1\r\nHost: localhost:\(gateway.port)\r\nContent-Type: application/json\r\n\
            Connection: keep-alive\r\nAccept: */*\r\n\(proof.map { "DPoP: \($0)\r\n" } ?? "")\
            User-Agent: MudApp/1 CFNetwork/1568.100.1 Darwin/24.0.0\r\nAccept-Language: en-GB,en;q=0.9\r\n\
            Accept-Encoding: gzip, deflate, br\r\nContent-Length: \(body.count)\r\n\r\n
            """
        let connection = try await gateway.connect(tls)
        try await connection.send(Array(head.utf8) + body)
        let answer = try await connection.answer()
        exchanges.append(Exchange(path: path, body: body, proof: proof, answer: answer))
        return answer
    }

    /// Any 2xx is a success.
    private func decode<Response: Decodable>(_ type: Response.Type, _ answer: ReceivedAnswer) throws -> Response {
        guard (200..<300).contains(answer.status) else {
            let error = try? Self.decoder.decode(ErrorResponse.self, from: Data(answer.body))
            throw ServerError(
                status: answer.status, error: error?.error ?? "http_\(answer.status)",
                description: error?.errorDescription)
        }
        return try Self.decoder.decode(type, from: Data(answer.body))
    }

    /// The library names its members in snake case; the bytes are the same.
    private static func encode(_ body: TokenBody) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return try encoder.encode(body)
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}

extension TokenDialectClient {
    /// A refusal, as the library reports it.
    package struct ServerError: Error, Equatable {
        package let status: Int
        package let error: String
        package let description: String?

        var isRegistrationRequired: Bool {
            status == 401 && error == "attestation_failed" && description?.contains("registration required") == true
        }
    }

    /// All that the app sees of a refusal on a first run.
    package struct AttestationFailed: Error, Equatable {
        package let message: String
    }

    private struct ChallengeResponse: Decodable {
        let nonce: String
        let exp: Int
    }

    private struct RegistrationResponse: Decodable {
        let registered: Bool
        let keyId: String
    }

    private struct TokenResponse: Decodable {
        let accessToken: String
        let expiresIn: Int
        let mode: String?
    }

    private struct ErrorResponse: Decodable {
        let error: String
        let errorDescription: String?
    }

    private struct App: Encodable {
        let bundleId: String
    }

    private struct Attestation: Encodable {
        let type = "app_attest"
        let keyId, teamId: String
        let attestation, assertion: String?
    }

    private struct TokenBody: Encodable {
        let platform = "ios"
        let app: App
        let deviceKeyJwk: SimulatedJWK
        var attestation: Attestation?
        var devToken: String?
        var nonce: String?
        let dpop: String
    }
}
