import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// A gate that knows no cryptography, and a player with a passkey.
@Suite("Players", .timeLimit(.minutes(5)))
struct PlayerTests {
    private let gate: TokenGate
    private let bench: Bench
    private let clock = ManualClock()

    private static let creation = """
        {"rp":{"id":"localhost","name":"The MUD"},"user":{"id":"AQID","name":"The MUD 010203","displayName":""},\
        "challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","pubKeyCredParams":[{"type":"public-key","alg":-7}],\
        "excludeCredentials":[{"type":"public-key","id":"BAUG"}],"attestation":"none"}
        """
    private static let request = """
        {"challenge":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","rpId":"localhost","allowCredentials":[],\
        "userVerification":"required"}
        """
    private static let token = StandIn.Answer.json(#"{"accessToken":"player1","expiresIn":900}"#)

    init() async throws {
        gate = try await TokenGate()
        bench = try Bench(gate.server.url, clock: clock)
        gate.answer(AccountPath.registrationOptions, .json(Self.creation))
        gate.answer(AccountPath.registration, .json(#"{"account":"a1","passkey":"BwgJ"}"#))
        let made = try await bench.client.accounts.signUp(by: .nothing, label: "a \"phone\"")
        #expect(made == RegisteredPasskey(account: "a1", passkey: "BwgJ"))
    }

    private var accounts: PlayerAccounts { bench.client.accounts }

    private func signIn() async throws {
        gate.answer(AccountPath.signInOptions, .json(Self.request))
        gate.answer(AccountPath.signIn, Self.token)
        try await accounts.signIn()
    }

    private func part(_ index: Int, of proof: String?) throws -> [String: Any] {
        let parts = try #require(proof).split(separator: ".")
        let bytes = try #require(BinaryText.bytes(base64: parts[index].utf8))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    // MARK: Requests

    @Test func `a new passkey goes to the gate with its label`() throws {
        #expect(
            gate.server.lines == ["POST \(AccountPath.registrationOptions)", "POST \(AccountPath.registration)"])
        let request = gate.server.requests[1]
        #expect(
            request.member("label") as? String == "a \"phone\"" && request.member("type") as? String == "public-key")
        let response = try #require(request.member("response") as? [String: Any])
        #expect(Set(response.keys) == ["clientDataJSON", "attestationObject"])
        #expect(request["Authorization"] == nil && request["DPoP"] == nil)
    }

    @Test func `a sign-in binds the passkey's challenge to the key that signs the proof`() async throws {
        try await signIn()
        let (options, exchange) = (gate.server.requests[2], gate.server.requests[3])
        #expect(options.path == AccountPath.signInOptions && exchange.path == AccountPath.signIn)
        let jwk = try #require(try part(0, of: exchange["DPoP"])["jwk"] as? [String: Any])
        let (x, y) = (try #require(jwk["x"] as? String), try #require(jwk["y"] as? String))
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(
            options.member("dpop_jkt") as? String == BinaryText.base64URL(Digest.sha256(Array(canonical.utf8))))
        #expect(try part(1, of: exchange["DPoP"])["htu"] as? String == gate.server.url + AccountPath.signIn)
        let response = try #require(exchange.member("response") as? [String: Any])
        #expect(Set(response.keys) == ["clientDataJSON", "authenticatorData", "signature", "userHandle"])
        let headers = try await accounts.tokens.authorizationHeaders(for: "api", method: .get)
        #expect(headers["Authorization"] == "DPoP player1")
    }

    @Test func `a server's nonce costs no second dialog`() async throws {
        gate.answer(AccountPath.signIn, TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": "n1"]))
        try await signIn()
        let tries = gate.server.requests.suffix(2)
        #expect(tries.map(\.path) == [AccountPath.signIn, AccountPath.signIn])
        #expect(tries.first?.body == tries.last?.body)
        #expect(try part(1, of: tries.last?["DPoP"])["nonce"] as? String == "n1")
        #expect(bench.passkeys.calls == [.create, .get])
    }

    @Test func `a change has a passkey of its own`() async throws {
        try await signIn()
        gate.answer(AccountPath.signInOptions, .json(Self.request))
        let key = String(repeating: "/+", count: 21) + "8="
        let path = "/api/auth/device/" + String(repeating: "_-", count: 21) + "8"
        gate.answer(path, .json(#"{"removed":true}"#))
        try await accounts.removeDevice(key)
        let request = try #require(gate.server.requests.last)
        #expect(request.method == "DELETE" && request.path == path)
        let passkey = try #require(request.member("passkey") as? [String: Any])
        #expect(passkey["response"] is [String: Any] && request["Authorization"] == "DPoP player1")
        #expect(bench.passkeys.calls == [.create, .get, .get])
    }

    // MARK: The end of a sign-in

    @Test func `without a token nothing is sent, and no circuit opens`() async throws {
        try await signIn()
        clock.advance(841)
        let lines = gate.server.lines
        for _ in 0..<5 {
            await #expect(throws: GateError.signInRequired) { try await accounts.account() }
            await #expect(throws: GateError.signInRequired) { try await accounts.removeAccount() }
            await #expect(throws: GateError.signInRequired) { try await accounts.addPasskey() }
            let end = try await Player(bench.client.connect(ConnectionOptions(.account))).end()
            #expect(end.error == .signInRequired && end.action == .askUser)
        }
        #expect(gate.server.lines == lines && bench.passkeys.calls == [.create, .get])
        for operation in GateOperation.allCases { #expect(await bench.client.circuit(operation) == .closed) }
    }

    @Test func `a refused token is forgotten`() async throws {
        try await signIn()
        gate.answer(
            AccountPath.devices, TokenGate.refusal(401, "invalid_token"), TokenGate.refusal(401, "invalid_token"))
        await #expect(throws: GateError.signInRequired) { try await accounts.account() }
        #expect(gate.server.lines.count { $0 == "GET \(AccountPath.devices)" } == 1)
        #expect(await !accounts.isSignedIn)
    }

    @Test func `a player who changes his mind is no failure`() async throws {
        bench.passkeys.fail(.cancelled, .cancelled, .cancelled, .other(1_004))
        for failure in [PasskeyFailure.cancelled, .cancelled, .cancelled, .other(1_004)] {
            gate.answer(AccountPath.signInOptions, .json(Self.request))
            await #expect(throws: GateError.passkey(failure)) { try await accounts.signIn() }
        }
        try await signIn()
        #expect(await accounts.isSignedIn)
        await accounts.signOut()
        #expect(await !accounts.isSignedIn)
    }

    @Test func `a platform without passkeys says so`() async throws {
        var platform = ClientPlatform(transport: SilentTransport(Self.request))
        platform.clock = clock
        let client = GateClient(configuration: bench.client.configuration, platform: platform)
        await #expect(throws: GateError.passkey(.unsupported)) { try await client.accounts.signIn() }
    }

    private struct SilentTransport: Transport {
        let body: String

        init(_ body: String) { self.body = body }

        func send(_ request: GateRequest) async throws -> GateResponse {
            GateResponse(status: 200, headers: [:], body: Data(body.utf8))
        }

        func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
            throw NetworkProblem.unreachable
        }
    }

    // MARK: Limits, and hostile answers

    @Test func `a label has at most 64 bytes`() async throws {
        try await signIn()
        let (fits, tooLong) = (String(repeating: "é", count: 32), String(repeating: "é", count: 32) + "a")
        gate.answer(AccountPath.registrationOptions, TokenGate.refusal(403, "sign_up_refused"))
        await #expect(throws: GateError.self) { try await accounts.signUp(by: .nothing, label: fits) }
        let count = gate.server.requests.count
        let wrong = GateError.configuration(.invalidValue("label"))
        await #expect(throws: wrong) { try await accounts.signUp(by: .nothing, label: tooLong) }
        await #expect(throws: wrong) { try await accounts.addPasskey(label: tooLong) }
        await #expect(throws: wrong) { try await accounts.joinDevice(label: tooLong) }
        #expect(gate.server.requests.count == count)
    }

    @Test(arguments: [
        "", "a b", "../account", "a/b?c", "AAA%2e", String(repeating: "A", count: 1_366),
    ])
    func `what isn't an identifier isn't sent`(id: String) async throws {
        try await signIn()
        let count = gate.server.requests.count
        await #expect(throws: GateError.configuration(.invalidValue("passkey"))) {
            try await accounts.removePasskey(id)
        }
        await #expect(throws: GateError.configuration(.invalidValue("device"))) {
            try await accounts.removeDevice(id)
        }
        #expect(gate.server.requests.count == count)
    }

    @Test(arguments: [
        ("challenge", #"{"rpId":"localhost"}"#), ("challenge", #"{"challenge":"AAAA","rpId":"localhost"}"#),
        ("challenge", #"{"challenge":"\#(String(repeating: "A", count: 1_368))","rpId":"localhost"}"#),
        ("rpId", #"{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAA"}"#),
        ("rpId", #"{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAA","rpId":"a b"}"#),
        ("allowCredentials", #"{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAA","rpId":"a","allowCredentials":[1]}"#),
        ("allowCredentials", #"{"challenge":"AAAAAAAAAAAAAAAAAAAAAAAA","rpId":"a","allowCredentials":[{"id":""}]}"#),
    ])
    func `options that can't be used show no dialog`(member: String, options: String) async throws {
        gate.answer(AccountPath.signInOptions, .json(options))
        await #expect(throws: GateError.malformedAnswer(.member(member))) { try await accounts.signIn() }
        #expect(bench.passkeys.calls == [.create])
    }

    @Test func `options have at most 1,024 bytes of challenge and 64 passkeys`() throws {
        func options(challenge: Int, passkeys: Int) -> Data {
            let text = BinaryText.base64URL([UInt8](repeating: 1, count: challenge))
            let entries = [String](repeating: #"{"type":"public-key","id":"AQ"}"#, count: passkeys)
            return Data(
                #"{"challenge":"\#(text)","rpId":"a","allowCredentials":[\#(entries.joined(separator: ","))]}"#.utf8)
        }
        let largest = try PasskeyRequestOptions(json: options(challenge: 1_024, passkeys: 64))
        #expect(largest.challenge.count == 1_024 && largest.allowed.count == 64)
        #expect(throws: GateError.malformedAnswer(.member("challenge"))) {
            try PasskeyRequestOptions(json: options(challenge: 1_025, passkeys: 0))
        }
        #expect(throws: GateError.malformedAnswer(.member("allowCredentials"))) {
            try PasskeyRequestOptions(json: options(challenge: 16, passkeys: 65))
        }
    }

    @Test func `an account has at most 64 passkeys and devices`() async throws {
        try await signIn()
        func account(_ passkeys: Int, _ devices: Int) -> StandIn.Answer {
            let passkey = #"{"id":"BwgJ","label":"a\u001b","madeAt":1800000000000,"isBackedUp":true}"#
            let device = #"{"id":"AQID","label":"b","joinedAt":1800000000500}"#
            let lists = [(passkey, passkeys), (device, devices)].map { entry, count in
                [String](repeating: entry, count: count).joined(separator: ",")
            }
            return .json(#"{"account":"a1","passkeys":[\#(lists[0])],"devices":[\#(lists[1])]}"#)
        }
        gate.answer(AccountPath.devices, account(64, 64), account(65, 0), account(0, 65))
        let listed = try await accounts.account()
        #expect(listed.passkeys.count == 64 && listed.devices.count == 64)
        #expect(listed.passkeys[0].madeAt == Date(timeIntervalSince1970: 1_800_000_000))
        #expect(listed.passkeys[0].lastUsedAt == nil && listed.passkeys[0].label == "a\u{1B}")
        for member in ["passkeys", "devices"] {
            await #expect(throws: GateError.malformedAnswer(.member(member))) { try await accounts.account() }
        }
    }

    @Test(arguments: [
        ("accessToken", #"{"expiresIn":900}"#), ("accessToken", #"{"accessToken":"a b","expiresIn":900}"#),
        ("expiresIn", #"{"accessToken":"a"}"#), ("expiresIn", #"{"accessToken":"a","expiresIn":-1}"#),
    ])
    func `an answer that is no token signs nobody in`(member: String, answer: String) async throws {
        gate.answer(AccountPath.signInOptions, .json(Self.request))
        gate.answer(AccountPath.signIn, .json(answer))
        await #expect(throws: GateError.malformedAnswer(.member(member))) { try await accounts.signIn() }
        #expect(await !accounts.isSignedIn)
    }

    @Test func `credentials of authenticators with JSON are read, and nothing else`() throws {
        let credential = try PasskeyCredential(
            json: Data(#"{"id":"AQID","type":"public-key","response":{"signature":"AA"},"more":[]}"#.utf8))
        #expect(credential.id == Data([1, 2, 3]))
        #expect(
            String(decoding: credential.json, as: UTF8.self)
                == #"{"id":"AQID","rawId":"AQID","type":"public-key","response":{"signature":"AA"}}"#)
        for text in ["", "[]", #"{"id":"AQID"}"#, #"{"id":"","response":{}}"#, #"{"id":"AQID","response":[]}"#] {
            #expect(throws: PasskeyFailure.malformed) { try PasskeyCredential(json: Data(text.utf8)) }
        }
    }

    @Test func `nothing secret is logged`() async throws {
        try await signIn()
        let text = bench.lines.current.joined()
        for secret in ["player1", "AAAAAAAA", "AQID"] { #expect(!text.contains(secret)) }
    }
}
