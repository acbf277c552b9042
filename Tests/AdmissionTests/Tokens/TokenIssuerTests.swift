import Crypto
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// `POST /token` without the HTTP.
struct TokenIssuerTests {
    private var bench: TokenBench

    init() throws {
        bench = try TokenBench()
    }

    private func verify(_ token: IssuedToken, at moment: Moment = start) throws -> Result<
        VerifiedResourceRequest, RefusedRequest
    > {
        try ResourceVerifier(bench.settings).verify(bench.resource(token.text, at: moment))
    }

    @Test mutating func `an assertion with a verified proof yields a token`() async throws {
        let token = try #require(await bench.issuer().issue(bench.request()).token)
        #expect(!token.isDevelopment && token.lifetimeSeconds == 300 && token.freshNonce == nil)
        let verified = try verify(token).get()
        #expect(verified.identity.method == AccessTokenMethod.name)
        #expect(verified.identity.subject == Data(bench.device.keyID).base64EncodedString())
        #expect(verified.claims.admissionMethod == "app_attest" && verified.claims.tokenID == token.id)
        #expect(verified.freshNonce == nil && verified.grant == nil)
    }

    @Test mutating func `a token ends with its lifetime, to the millisecond`() async throws {
        let token = try #require(await bench.issuer().issue(bench.request()).token)
        #expect(throws: Never.self) { try verify(token, at: start + 299_999).get() }
        #expect(try verify(token, at: start + 300_000).refusal?.code == .invalidToken)
    }

    @Test mutating func `nothing is spent before the proof has the server's nonce`() async throws {
        bench.settings.nonces = .token
        let nonce = bench.challenge()
        let assertion = try bench.assertion(over: nonce)
        let demand = await bench.issuer().issue(try bench.request(nonce: nonce, assertion: assertion)).refusal
        #expect(demand?.answer == .useNonce)
        let server = try #require(demand?.token?.nonce)
        #expect(demand?.headerFields.contains { $0.name == "DPoP-Nonce" && $0.value == server } == true)
        let request = try bench.request(nonce: nonce, assertion: assertion, serverNonce: server)
        #expect(await bench.issuer().issue(request).token != nil)
    }

    @Test mutating func `a new nonce is sent before the old one expires`() async throws {
        bench.settings.nonces = .token
        let nonce = bench.settings.serverNonces(at: start).nonce(at: start.date)
        let same = try #require(await bench.issuer().issue(bench.request(serverNonce: nonce)).token)
        #expect(same.freshNonce == nil)
        let later = start + 60_000
        let next = try #require(await bench.issuer().issue(bench.request(serverNonce: nonce, at: later)).token)
        #expect(next.freshNonce == bench.settings.serverNonces(at: later).nonce(at: later.date))
        let tooLate = start + 180_000
        let refused = await bench.issuer().issue(try bench.request(serverNonce: nonce, at: tooLate)).refusal
        #expect(refused?.answer == .useNonce)
    }

    @Test mutating func `neither a refused proof nor a refused assertion spends the challenge`() async throws {
        let nonce = bench.challenge()
        var request = try bench.request(nonce: nonce)
        request.method = "PUT"
        #expect(await bench.issuer().issue(request).refusal?.answer == .invalidProofAtToken)
        let wrong = try bench.request(nonce: nonce, assertion: [1])
        #expect(await bench.issuer().issue(wrong).refusal?.answer == .attestationFailed)
        #expect(bench.bench.challenges.spentCount == 0)
        #expect(await bench.issuer().issue(try bench.request(nonce: nonce)).token != nil)
        #expect(await bench.issuer().issue(try bench.request(nonce: nonce)).refusal?.answer == .nonceExpired)
    }

    @Test mutating func `one assertion sent twice at once yields one token`() async throws {
        let nonce = bench.challenge()
        let assertion = try bench.assertion(over: nonce)
        let requests = try (0..<8).map { _ in try bench.request(nonce: nonce, assertion: assertion) }
        let issuer = bench.issuer()
        let outcomes = await withTaskGroup(of: TokenOutcome.self) { group in
            for request in requests { group.addTask { await issuer.issue(request) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0.token != nil } == 1)
    }

    @Test mutating func `a counter that was used is refused, and not lowered`() async throws {
        let nonce = bench.challenge()
        let old = try bench.assertion(over: nonce)
        #expect(await bench.issuer().issue(try bench.request()).token != nil)
        let refused = await bench.issuer().issue(try bench.request(nonce: nonce, assertion: old)).refusal
        #expect(refused?.answer == .attestationFailed)
        let id = try #require(KeyID(bytes: bench.device.keyID))
        #expect(bench.bench.registry.key(id)?.counter == 2)
    }

    @Test(arguments: [FailingRegistry.Operation.look, .advance])
    mutating func `an unavailable store causes a 503`(operation: FailingRegistry.Operation) async throws {
        let failing = FailingRegistry(bench.bench.registry, failing: [operation: .busy])
        let refusal = await bench.issuer(over: failing).issue(try bench.request()).refusal
        #expect(refusal?.answer == .tokensUnavailable && refusal?.retryAfter == 5)
    }

    @Test mutating func `a blocked identity spends nothing`() async throws {
        let nonce = bench.challenge()
        let request = try bench.request(nonce: nonce)
        let outcome = await bench.issuer().issue(request) { identity in
            identity.method == AccessTokenMethod.name ? Refusal(.deviceBlocked, detail: "") : nil
        }
        #expect(outcome.refusal?.code == .deviceBlocked && outcome.refusal?.token != nil)
        #expect(await bench.issuer().issue(try bench.request(nonce: nonce)).token != nil)
    }

    @Test mutating func `requests are limited by address, at the limit and above it`() async throws {
        let issuer = bench.issuer(limits: EndpointLimits(tokensPerMinute: 2))
        for _ in 0..<2 { #expect(await issuer.issue(try bench.request()).token != nil) }
        let refusal = await issuer.issue(try bench.request()).refusal
        #expect(
            refusal?.answer == .rateLimited && refusal?.description(ofRequest: "")?.hasPrefix("rate_limited: ") == true)
    }

    @Test mutating func `a full replay store refuses, and a body at the limit is read`() async throws {
        bench = try TokenBench(maximumProofs: 1)
        #expect(await bench.issuer().issue(try bench.request()).token != nil)
        #expect(await bench.issuer().issue(try bench.request()).refusal?.answer == .tooManyProofs)
        bench = try TokenBench()
        var fitting = try bench.request()
        fitting.body += [UInt8](repeating: 0x20, count: 65_536 - fitting.body.count)
        #expect(await bench.issuer().issue(fitting).token != nil)
        var larger = try bench.request()
        larger.body += [UInt8](repeating: 0x20, count: 65_537 - larger.body.count)
        #expect(await bench.issuer().issue(larger).refusal?.answer == .bodyTooLarge)
    }

    @Test mutating func `a request for an unknown key or token takes no place in the replay store`() async throws {
        bench = try TokenBench(maximumProofs: 1)
        bench.settings.development = OneDevelopmentToken()
        let unknownKey = Data(repeating: 7, count: 32).base64EncodedString()
        let stranger = try bench.request { members in
            members["attestation"] =
                #"{"type":"app_attest","key_id":"\#(unknownKey)","team_id":"ABCDE12345","assertion":"AAAA"}"#
        }
        #expect(await bench.issuer().issue(stranger).refusal?.answer == .registrationRequired)
        let guess = try bench.request { members in
            members["attestation"] = nil
            members["dev_token"] = #""pdt_wrong""#
        }
        #expect(await bench.issuer().issue(guess).refusal?.answer == .invalidToken)
        #expect(await bench.issuer().issue(try bench.request()).token != nil)
    }

    /// Who knows a registered device, but hasn't its key, may make device keys and proofs at will.
    @Test mutating func `a request without the registered key takes no place in any store`() async throws {
        bench = try TokenBench(maximumProofs: 1)
        let nonce = bench.challenge()
        let captured = try bench.assertion(over: nonce)
        let foreign = try TokenBench().challenge()
        let honest = bench.clientKey
        for number in 0..<20 {
            bench.clientKey = P256.Signing.PrivateKey()
            let (object, challenge, answer): ([UInt8], String, RefusalAnswer) =
                switch number % 4 {
                case 0: (captured, nonce, .attestationFailed)
                case 1: ([UInt8](repeating: 1, count: 100), bench.challenge(), .attestationFailed)
                case 2: (captured, foreign, .nonceExpired)
                default: (captured, bench.challenge(at: start - 60_000), .nonceExpired)
                }
            let request = try bench.request(nonce: challenge, assertion: object)
            #expect(await bench.issuer().issue(request).refusal?.answer == answer)
        }
        #expect(bench.settings.replays.token.count == 0 && bench.bench.challenges.spentCount == 0)
        bench.clientKey = honest
        #expect(await bench.issuer().issue(try bench.request(nonce: nonce, assertion: captured)).token != nil)
    }

    @Test mutating func `a used proof is found before an assertion is verified`() async throws {
        let first = try bench.request()
        #expect(await bench.issuer().issue(first).token != nil)
        var again = try bench.request(assertion: [1]) { $0["dpop"] = nil }
        again.proofs = first.proofs
        #expect(await bench.issuer().issue(again).refusal?.failed.check == .replay)
    }

    @Test mutating func `a proof that was used leaves the challenge and the counter unused`() async throws {
        let first = try bench.request()
        #expect(await bench.issuer().issue(first).token != nil)
        let nonce = bench.challenge()
        let assertion = try bench.assertion(over: nonce)
        var again = try bench.request(nonce: nonce, assertion: assertion) { $0["dpop"] = nil }
        let fresh = again.proofs
        again.proofs = first.proofs
        #expect(await bench.issuer().issue(again).refusal?.answer == .invalidProofAtToken)
        again.proofs = fresh
        #expect(await bench.issuer().issue(again).token != nil)
    }

    @Test mutating func `challenges of both purposes are bounded apart`() async throws {
        bench = try TokenBench(maximumSpent: 1)
        #expect(await bench.issuer().issue(try bench.request()).token != nil)
        #expect(await bench.issuer().issue(try bench.request()).refusal?.answer == .challengesExhausted)
        let challenges = bench.bench.challenges
        guard case .spent = challenges.spend(bench.challenge(), for: .registration, at: start.monotonic) else {
            Issue.record("a registration found no room")
            return
        }
        #expect(challenges.spentCount == 2)
    }

    // MARK: Bodies

    @Test(arguments: [
        (#"{"device_key_jwk":{}}"#, "device_key_jwk"), ("[]", "JSON object"), ("", "JSON object"),
        (#"{"nonce":"a","nonce":"b"}"#, "JSON object"), (#"{"device_key_jwk":null}"#, "device_key_jwk"),
    ])
    mutating func `the refusal of a malformed body says what is wrong`(body: String, word: String) async throws {
        var request = try bench.request()
        request.body = Array(body.utf8)
        let refusal = await bench.issuer().issue(request).refusal
        #expect(refusal?.answer == .invalidRequest)
        #expect(refusal?.description(ofRequest: "")?.contains(word) == true)
    }

    @Test mutating func `a private key is refused, and so is another kind of attestation`() async throws {
        let changes: [(inout [String: String]) -> Void] = [
            { $0["device_key_jwk"] = $0["device_key_jwk"]?.replacing("}", with: #","d":"AA"}"#) },
            { $0["attestation"] = $0["attestation"]?.replacing("app_attest", with: "play_integrity") },
            { $0["attestation"] = $0["attestation"]?.replacing("ABCDE12345", with: "short") },
            { $0["dev_token"] = "\"x\"" }, { $0["attestation"] = "null" }, { $0["nonce"] = "7" },
        ]
        for change in changes {
            let request = try bench.request(changing: change)
            #expect(await bench.issuer().issue(request).refusal?.answer == .invalidRequest)
        }
    }

    @Test mutating func `the body's proof and key must equal the header's`() async throws {
        let other = try TokenBench()
        let changes: [(inout [String: String]) -> Void] = [
            { $0["dpop"] = "\"a.b.c\"" },
            { members in
                var stranger = other
                let body = (try? stranger.request().body) ?? []
                let text = String(decoding: body, as: UTF8.self)
                members["device_key_jwk"] = text.firstMatch(of: /"device_key_jwk":(\{[^}]*\})/).map { String($0.1) }
            },
        ]
        for change in changes {
            let request = try bench.request(changing: change)
            #expect(await bench.issuer().issue(request).refusal?.answer == .invalidProofAtToken)
        }
        var several = try bench.request()
        several.proofs += several.proofs
        #expect(await bench.issuer().issue(several).refusal?.answer == .invalidProofAtToken)
    }

    // MARK: Development tokens

    private mutating func developmentRequest(_ token: String = "pdt_good") throws -> TokenRequest {
        try bench.request { members in
            members["attestation"] = nil
            members["nonce"] = nil
            members["dev_token"] = "\"\(token)\""
        }
    }

    @Test mutating func `a development token yields an access token that says so`() async throws {
        bench.settings.development = OneDevelopmentToken()
        let token = try #require(await bench.issuer().issue(developmentRequest()).token)
        #expect(token.isDevelopment)
        let verified = try verify(token).get()
        #expect(verified.claims.isDevelopment && verified.grant?.id == "ci")
        #expect(verified.identity.method == AccessTokenMethod.developmentName)
        #expect(verified.identity.subject?.hasPrefix("ci.") == true)
        // Its registry decides at each use.
        bench.settings.development = OneDevelopmentToken(refusal: .revoked)
        #expect(try verify(token).refusal?.code == .invalidToken)
        bench.settings.development = nil
        #expect(try verify(token).refusal?.code == .invalidToken)
    }

    @Test(arguments: [DevelopmentTokenRefusal.unknown, .expired, .revoked, .deviceLimit])
    mutating func `an invalid development token is answered with invalid_token`(reason: DevelopmentTokenRefusal)
        async throws
    {
        bench.settings.development = OneDevelopmentToken(refusal: reason)
        #expect(await bench.issuer().issue(try developmentRequest()).refusal?.answer == .invalidToken)
    }

    @Test mutating func `development tokens are off unless they are switched on, and are limited in length`()
        async throws
    {
        #expect(await bench.issuer().issue(try developmentRequest()).refusal?.answer == .invalidToken)
        bench.settings.development = OneDevelopmentToken()
        let longest = String(repeating: "x", count: TokenDialectBody.maximumDevelopmentTokenBytes)
        #expect(await bench.issuer().issue(try developmentRequest(longest)).refusal?.answer == .invalidToken)
        #expect(await bench.issuer().issue(try developmentRequest(longest + "x")).refusal?.answer == .invalidRequest)
    }
}

extension Result where Failure == RefusedRequest {
    var refusal: Refusal? {
        guard case .failure(let refused) = self else { return nil }
        return refused.refusal
    }
}
