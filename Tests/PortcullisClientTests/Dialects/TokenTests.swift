import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// A gate of the second dialect that knows no cryptography, with a service behind it.
struct TokenGate: Sendable {
    let server: StandIn
    private let state: Awaited<[String: [StandIn.Answer]]>

    init() async throws {
        let state = Awaited<[String: [StandIn.Answer]]>([:])
        self.state = state
        let tokens = Awaited(0)
        server = try await StandIn { request in
            let scripted = state.update { state -> StandIn.Answer? in
                guard state[request.path]?.isEmpty == false else { return nil }
                return state[request.path]?.removeFirst()
            }
            if let scripted { return scripted }
            switch request.path {
            case "/attest/challenge": return .json(Self.challenge)
            case "/attest/register": return .json(#"{"key_id":"k","registered":true}"#)
            case "/token":
                let number = tokens.update { number -> Int in
                    number += 1
                    return number
                }
                return .json(#"{"access_token":"token\#(number)","expires_in":300}"#)
            case "/": return .webSocket { try await $0.idle() }
            default: return .json("{}")
            }
        }
    }

    /// 32 bytes, with an end that is 60 s after the date that isn't sent.
    static let challenge = #"{"exp":1800000060,"nonce":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#

    func answer(_ path: String, _ answers: StandIn.Answer...) { state.update { $0[path, default: []] += answers } }

    /// As the gate refuses in this dialect.
    static func refusal(
        _ status: Int, _ code: String, _ description: String = "", headers: [String: String] = [:]
    ) -> StandIn.Answer {
        .reply(
            status, headers: headers,
            body:
                #"{"error":"\#(code)","error_description":"\#(code): \#(description)","code":"\#(code)","requestId":"r2"}"#
        )
    }
}

@Suite("The second dialect: access tokens", .timeLimit(.minutes(5)))
struct TokenTests {
    private let gate: TokenGate
    private let apple: SimulatedApple
    private let clock = ManualClock()

    init() async throws {
        gate = try await TokenGate()
        apple = try SimulatedApple()
    }

    private func bench(
        _ secrets: MemorySecretStore = .init(), developmentToken: String? = nil,
        _ change: (inout GateConfiguration) -> Void = { _ in }
    ) throws -> Bench {
        try Bench(
            gate.server.url, apple: apple, secrets: secrets, clock: clock, developmentToken: developmentToken, change)
    }

    private static let firstRun = ["POST /attest/challenge", "POST /attest/register", "POST /token"]
    private static let renewal = ["POST /attest/challenge", "POST /token"]

    /// A part of a proof in a request.
    private func claims(_ proof: String?, part: Int = 1) throws -> [String: Any] {
        let parts = try #require(proof).split(separator: ".")
        let bytes = try #require(BinaryText.bytes(base64: parts[part].utf8))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    // MARK: Tokens

    @Test func `a first run asks for a challenge, registers and gets a token`() async throws {
        let bench = try bench()
        let headers = try await bench.client.tokens.authorizationHeaders(for: "api/hello", method: .post)
        #expect(headers["Authorization"] == "DPoP token1")
        let claims = try claims(headers["DPoP"])
        #expect(claims["htm"] as? String == "POST" && claims["htu"] as? String == gate.server.url + "/api/hello")
        #expect(claims["iat"] as? Int == 1_800_000_000 && claims["nonce"] == nil)
        #expect(claims["ath"] as? String == BinaryText.base64URL(Digest.sha256(Array("token1".utf8))))
        #expect(gate.server.lines == Self.firstRun)
        let (registration, token) = (gate.server.requests[1], gate.server.requests[2])
        #expect(registration["DPoP"] == registration.member("dpop") as? String && registration["DPoP"] != token["DPoP"])
        let evidence = try #require(token.member("attestation") as? [String: Any])
        #expect(Set(evidence.keys) == ["type", "key_id", "team_id", "assertion"])
        #expect(token.member("nonce") as? String == registration.member("nonce") as? String)
        #expect(try self.claims(token["DPoP"], part: 0)["typ"] as? String == "dpop+jwt")
    }

    @Test func `a hundred callers on an empty client make one challenge, one registration, one token`() async throws {
        let bench = try bench()
        let proofs = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<100 {
                group.addTask {
                    try await bench.client.tokens.authorizationHeaders(for: "x\(number)", method: .get)["DPoP"]
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(gate.server.lines == Self.firstRun)
        #expect(proofs.count == 100)
    }

    @Test func `a token is used until 60 s before its end, and a later start of the app registers nothing`()
        async throws
    {
        let bench = try bench()
        let tokens = bench.client.tokens
        _ = try await tokens.authorizationHeaders(for: "x", method: .get)
        clock.advance(239)
        #expect(try await tokens.authorizationHeaders(for: "x", method: .get)["Authorization"] == "DPoP token1")
        clock.advance(1)
        #expect(try await tokens.authorizationHeaders(for: "x", method: .get)["Authorization"] == "DPoP token2")
        let next = try Bench(
            gate.server.url, apple: apple, attest: bench.attest, secrets: bench.secrets, clock: clock)
        _ = try await next.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + Self.renewal + Self.renewal)
    }

    @Test func `clearing the state costs a token, and clearing the key a registration`() async throws {
        let bench = try bench()
        let tokens = bench.client.tokens
        _ = try await tokens.authorizationHeaders(for: "x", method: .get)
        await tokens.clearCachedState()
        _ = try await tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + Self.renewal)
        await tokens.clearAttestKey()
        _ = try await tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + Self.renewal + Self.firstRun)
        let keys = gate.server.requests.filter { $0.path == "/token" }.map { request in
            (request.member("attestation") as? [String: Any])?["key_id"] as? String
        }
        #expect(keys[0] == keys[1] && keys[1] != keys[2])
    }

    @Test func `a server's nonce is answered once, with the same assertion, and kept`() async throws {
        gate.answer("/token", TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": "n1"]))
        let bench = try bench()
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + ["POST /token"])
        let tries = gate.server.requests.suffix(2)
        let assertions = tries.map { ($0.member("attestation") as? [String: Any])?["assertion"] as? String }
        #expect(assertions.first == assertions.last)
        #expect(try claims(tries.last?["DPoP"])["nonce"] as? String == "n1")
        #expect(try claims(tries.first?["DPoP"])["jti"] as? String != claims(tries.last?["DPoP"])["jti"] as? String)
        let headers = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(try claims(headers["DPoP"])["nonce"] as? String == "n1")
    }

    @Test func `a second demand for a nonce ends the attempt`() async throws {
        let demand = TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": "n1"])
        gate.answer("/token", demand, demand)
        let bench = try bench()
        await #expect(throws: GateError.self) {
            try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        }
        #expect(gate.server.lines == Self.firstRun + ["POST /token"])
    }

    @Test func `a key that the gate has forgotten is registered anew, once`() async throws {
        let bench = try bench()
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        await bench.client.tokens.clearCachedState()
        let required = TokenGate.refusal(401, "attestation_failed", "registration required")
        gate.answer("/token", required)
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + Self.renewal + Self.firstRun)
        await bench.client.tokens.clearCachedState()
        gate.answer("/token", required, required, required)
        await #expect(throws: GateError.self) {
            try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        }
        #expect(gate.server.lines.count == 8 + 5)
    }

    @Test func `a spent challenge is replaced once`() async throws {
        let expired = TokenGate.refusal(400, "nonce_expired")
        gate.answer("/token", expired)
        let bench = try bench()
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == Self.firstRun + Self.renewal)
        await bench.client.tokens.clearCachedState()
        gate.answer("/token", expired, expired)
        await #expect(throws: GateError.self) {
            try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        }
        #expect(gate.server.lines.count == 5 + 4)
    }

    @Test func `a registration that isn't confirmed isn't kept`() async throws {
        gate.answer("/attest/register", .json(#"{"key_id":"k","registered":false}"#))
        let bench = try bench()
        await #expect(throws: GateError.malformedAnswer(.member("registered"))) {
            try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        }
        #expect(await bench.client.assertions.isRegistered == false)
    }

    @Test func `the clock's difference is told`() async throws {
        gate.answer(
            "/token",
            TokenGate.refusal(
                400, "clock_skew", "The clock differs by more than 30 s",
                headers: ["Date": "Fri, 15 Jan 2027 08:10:00 GMT"]))
        let bench = try bench()
        do {
            _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
            Issue.record("a token")
        } catch {
            guard case .clockSkew(let seconds, let refusal) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(seconds.map { abs($0 - 600.5) < 0.01 } == true && refusal.requestId == "r2")
            #expect(error.retry == .afterUserAction && error.userMessage.contains("clock"))
        }
        #expect(bench.client.clockDifference.map { $0 > 600 } == true)
        #expect(bench.lines.current.contains { $0.contains("clock of this device differs by 600 s") })
    }

    @Test func `a device key of another device is replaced`() async throws {
        let bench = try bench()
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        let name = StoredName.of("device-key", bench.client.configuration)
        try bench.secrets.write(name, Data([1, 2, 3]))
        let next = try self.bench(bench.secrets)
        _ = try await next.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(try bench.secrets.read(name)?.count == 32)
        #expect(next.lines.current.contains { $0.contains("isn't of this device") })
    }

    // MARK: Development tokens

    @Test func `a development token replaces App Attest`() async throws {
        gate.answer("/token", .json(#"{"access_token":"t","expires_in":300,"mode":"dev"}"#))
        let bench = try bench(developmentToken: "dev-token")
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(gate.server.lines == ["POST /token"])
        let request = gate.server.requests[0]
        #expect(request.member("dev_token") as? String == "dev-token" && request.member("attestation") == nil)
        #expect(request.member("nonce") == nil && request["DPoP"] != nil)
        #expect(await bench.client.tokens.isDevelopment == true)
        #expect(bench.attest.calls.isEmpty)
    }

    // MARK: Requests to services

    @Test func `a request has a token, a proof, its body and the app's header fields`() async throws {
        let bench = try bench { $0.authorizationScheme = .bearer }
        gate.answer("/api/chat", .reply(418, headers: ["X-Answer": "a"], body: "teapot"))
        let response = try await bench.client.tokens.performRequest(
            path: "api/chat?x=1", method: .post, body: Data("question".utf8),
            additionalHeaders: ["Content-Type": "text/plain"])
        #expect(response.status == 418 && response.headers["x-answer"] == "a" && response.body == Data("teapot".utf8))
        let request = try #require(gate.server.requests.last)
        #expect(request.target == "/api/chat?x=1" && String(decoding: request.body, as: UTF8.self) == "question")
        #expect(request["Authorization"] == "Bearer token1" && request["Content-Type"] == "text/plain")
        #expect(try claims(request["DPoP"])["htu"] as? String == gate.server.url + "/api/chat")
    }

    @Test func `the app's own Accept and User-Agent replace the library's`() async throws {
        let bench = try bench()
        let fields = ["accept": "application/json", "User-Agent": "Mud/1"]
        for own in [fields, [:]] {
            _ = try await bench.client.tokens.performRequest(path: "x", method: .get, additionalHeaders: own)
            let headers = try #require(gate.server.requests.last).headers
            for (name, value) in [("accept", "*/*"), ("user-agent", "PortcullisClient/0.1")] {
                let expected = own.first { $0.key.lowercased() == name }?.value ?? value
                #expect(headers.filter { $0.name == name }.map(\.value) == [expected])
            }
        }
    }

    @Test func `a request is repeated once for a nonce, and once for a refused token`() async throws {
        let bench = try bench()
        let refused = StandIn.Answer.reply(401, headers: ["WWW-Authenticate": #"DPoP error="invalid_token""#])
        let nonce = StandIn.Answer.reply(
            401, headers: ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": "n9"])
        gate.answer("/api", refused, nonce)
        #expect(try await bench.client.tokens.performRequest(path: "api", method: .get).status == 200)
        let tries = gate.server.requests.filter { $0.path == "/api" }
        #expect(tries.map { $0["Authorization"] } == ["DPoP token1", "DPoP token2", "DPoP token2"])
        #expect(try claims(tries[2]["DPoP"])["nonce"] as? String == "n9")
        gate.answer("/api", nonce, nonce)
        #expect(try await bench.client.tokens.performRequest(path: "api", method: .get).status == 401)
        gate.answer("/api", refused, refused, refused)
        let last = try await bench.client.tokens.performRequest(path: "api", method: .get)
        #expect(last.status == 401 && last.refusal?.code == "invalid_token")
        #expect(gate.server.requests.count { $0.path == "/api" } == 3 + 2 + 2)
    }

    @Test func `an app that sends by itself gets the nonce from the answer`() async throws {
        let bench = try bench()
        let tokens = bench.client.tokens
        #expect(tokens.dpopNonce(from: ["dpop-nonce": "n3"]) == "n3")
        #expect(tokens.dpopNonce(from: ["DPoP-Nonce": "a b"]) == nil && tokens.dpopNonce(from: [:]) == nil)
        let headers = try await tokens.authorizationHeaders(for: "x", method: .get, nonce: "n3")
        #expect(try claims(headers["DPoP"])["nonce"] as? String == "n3")
        let other = try #require(URL(string: "https://other.example/api?x=1"))
        let away = try await tokens.authorizationHeaders(for: other, method: .get)
        // A nonce of one server isn't sent to another.
        #expect(try claims(away["DPoP"])["nonce"] == nil)
        #expect(try claims(away["DPoP"])["htu"] as? String == "https://other.example/api")
    }

    @Test func `a session costs one request while there is a token`() async throws {
        let bench = try bench()
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        let player = Player(bench.client.connect(ConnectionOptions(dialect: .raw)))
        try await player.connected()
        #expect(gate.server.lines == Self.firstRun + ["GET /"])
        let upgrade = try #require(gate.server.requests.last)
        #expect(upgrade["Authorization"] == "DPoP token1" && upgrade.target.contains("compression=off"))
    }

    @Test func `an upgrade is repeated for a nonce, too`() async throws {
        let bench = try bench()
        gate.answer(
            "/",
            TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": "n1", "X-Refusal-Code": "use_dpop_nonce"]))
        let player = Player(bench.client.connect(ConnectionOptions(dialect: .raw)))
        try await player.connected()
        #expect(gate.server.lines == Self.firstRun + ["GET /", "GET /"])
    }

    @Test func `nothing secret is logged or described`() async throws {
        gate.answer(
            "/token", TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": "secret-nonce-of-the-server"]))
        let bench = try bench()
        let headers = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        let text = bench.lines.current.joined()
        for secret in Array(headers.values) + ["token1", "secret-nonce", "AAAAAAAA"] { #expect(!text.contains(secret)) }
    }
}
