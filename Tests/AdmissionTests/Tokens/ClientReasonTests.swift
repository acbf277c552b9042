import AppAttest
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import Testing

@testable import Admission

/// What clients of access tokens read in `error_description`.
struct ClientReasonTests {
    private var bench: TokenBench

    init() throws { bench = try TokenBench() }

    private static let request = "91347244767f1a80"

    private func description(_ refusal: Refusal?) -> String { refusal?.description(ofRequest: Self.request) ?? "none" }

    /// Begins with the code, ends with the request, and says these words.
    private func expect(
        _ refusal: Refusal?, _ answer: RefusalAnswer, says words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let description = description(refusal)
        #expect(refusal?.answer == answer, "\(description)", sourceLocation: sourceLocation)
        #expect(
            description.hasPrefix("\(answer.code.rawValue): \(answer.message)")
                && description.hasSuffix(" (request \(Self.request))") && description.contains(words),
            "\(description)", sourceLocation: sourceLocation)
        #expect(
            description.utf8.allSatisfy(ErrorDescription.isPermitted), "\(description)", sourceLocation: sourceLocation)
        let isMeant = answer == .registrationRequired
        #expect(
            description.contains("registration required") == isMeant, "\(description)", sourceLocation: sourceLocation)
    }

    private mutating func refusal(_ request: TokenRequest) async -> Refusal? {
        await bench.issuer().issue(request).refusal
    }

    // MARK: Proofs

    @Test mutating func `a token request hears which check its proof failed`() async throws {
        var request = try bench.request()
        request.proofs = [try bench.proof("GET", TokenBench.issuer + "/token")]
        expect(await refusal(request), .invalidProofAtToken, says: "; htm is not the method of this request")
        request.proofs = [try bench.proof("POST", "https://else.example/token?secret=1")]
        expect(
            await refusal(request), .invalidProofAtToken,
            says: "; htu is not the URL of this request, which is https://gate.example/token (")
        request.proofs = ["a.b"]
        expect(await refusal(request), .invalidProofAtToken, says: "three parts between dots")
        request.proofs = [try bench.proof("POST", request.url), try bench.proof("POST", request.url)]
        expect(await refusal(request), .invalidProofAtToken, says: "more than one DPoP field")
        request.proofs = [try bench.proof("POST", request.url, at: start - 75_000)]
        expect(
            await refusal(request), .clockSkewAtToken,
            says: "; iat is 75 s behind the server's clock; the server's time is 20")
        request.proofs = [try bench.proof("POST", request.url)]
        expect(await refusal(request), .invalidProofAtToken, says: "dpop is another proof than that of the field DPoP")
        let used = try bench.request()
        #expect(await bench.issuer().issue(used).token != nil)
        var again = try bench.request { $0["dpop"] = nil }
        again.proofs = used.proofs
        expect(await refusal(again), .invalidProofAtToken, says: "used before (replayed)")
    }

    @Test mutating func `a wrong signature isn't explained`() async throws {
        var request = try bench.request()
        let last = request.proofs[0].suffix(10)
        request.proofs = [request.proofs[0].dropLast(10) + (last == "AAAAAAAAAA" ? "BBBBBBBBBA" : "AAAAAAAAAA")]
        expect(await refusal(request), .invalidProofAtToken, says: "; the proof cannot be verified (")
        let other = try bench.request(nonce: bench.challenge(), assertion: bench.assertion(over: bench.challenge()))
        expect(await refusal(other), .attestationFailed, says: "; the assertion cannot be verified (")
    }

    @Test mutating func `a request for another host hears that its Host is wrong`() async throws {
        var request = try bench.request()
        let url = bench.settings.origins.url(host: "evil\"\u{7}.example", path: "/token")
        (request.url, request.foreignHost) = (url.text, url.foreignHost)
        let refusal = await refusal(request)
        expect(refusal, .invalidProofAtToken, says: "perhaps PUBLIC_ORIGIN has to be set")
        #expect(!description(refusal).contains("evil"))
    }

    @Test mutating func `a request with a token hears which check failed`() async throws {
        let token = try #require(await bench.issuer().issue(bench.request()).token).text
        func refusal(_ request: ResourceRequest) throws -> Refusal? {
            try ResourceVerifier(bench.settings).verify(request).refusal
        }
        var request = try bench.resource(token, scheme: "DPoP")
        expect(try refusal(request), .invalidProof, says: "; ath is missing, which the scheme DPoP needs")
        request = try bench.resource(token)
        _ = try ResourceVerifier(bench.settings).verify(request)
        expect(try refusal(request), .invalidProof, says: "used before (replayed)")
        request = try bench.resource(token, at: start + 1_000)
        request.moment = start + 32_000
        expect(try refusal(request), .clockSkew, says: "iat is 31 s behind the server's clock")
        request.authorization = ["Bearer \(token.dropLast(4))AAAA"]
        expect(try refusal(request), .invalidToken, says: "; the access token cannot be verified (")
        request.authorization = ["Bearer \(token)"]
        request.proofs = []
        expect(try refusal(request), .invalidToken, says: "a bound token needs a proof")
        request.proofs = [try TokenBench().proof("GET", request.url, at: request.moment)]
        expect(try refusal(request), .invalidToken, says: "bound to another key than that of the proof")
        request.authorization = []
        expect(try refusal(request), .tokenRequired, says: "there is no Authorization field")
        request.authorization = ["Bearer \(token)"]
        request.moment = start + 301_000
        expect(try refusal(request), .invalidToken, says: "the access token has expired")
    }

    /// A proxy hands on what its client sends, and its client hears it again.
    @Test mutating func `a URL with other bytes isn't repeated as it is`() async throws {
        let token = try #require(await bench.issuer().issue(bench.request()).token).text
        for path in ["/a\"b", "/a\\b", "/\u{7}", "/é", "/%22%0d%0a", "/" + String(repeating: "a", count: 500)] {
            var request = try bench.resource(token)
            request.url = TokenBench.issuer + path
            let refusal = try ResourceVerifier(bench.settings).verify(request).refusal
            expect(refusal, .invalidProof, says: "htu is not the URL of this request")
            #expect(description(refusal).utf8.count < 400)
        }
    }

    @Test func `what can't be decided says so`() {
        for (error, answer, words): (ProofRefusal, RefusalAnswer, String) in [
            (.undecidable, .invalidProofAtToken, "undecidable whether the proof was used before"),
            (.perhapsInEarlierLife, .useNonce, "used before a restart"), (.keyLimit, .tooManyProofs, "this key"),
            (.storeFull, .tooManyProofs, "too many proofs were used"),
            (.storeUnavailable, .tokensUnavailable, "cannot be found out now"),
        ] {
            let refusal = Refusal.proof(error, nil, at: .token, time: start.date, freshNonce: "n")
            expect(refusal, answer, says: words)
            #expect((refusal.retryAfter != nil) == [.tooManyProofs, .tokensUnavailable].contains(answer))
            #expect((refusal.token?.nonce == "n") == (answer == .useNonce))
        }
    }

    // MARK: Challenges and development tokens

    @Test mutating func `a challenge that isn't good says why`() async throws {
        let nonce = bench.challenge()
        #expect(await bench.issuer().issue(try bench.request(nonce: nonce)).token != nil)
        expect(await refusal(try bench.request(nonce: nonce)), .nonceExpired, says: "; nonce was used before")
        let foreign = try TokenBench().challenge()
        expect(await refusal(try bench.request(nonce: foreign)), .nonceExpired, says: "of another gateway")
        let old = bench.challenge(at: start)
        var late = try bench.request(nonce: old, at: start + 61_000)
        late.moment = start + 61_000
        expect(await refusal(late), .nonceExpired, says: "nonce is 61 s old: a challenge is valid for 60 s")
    }

    @Test(arguments: [
        (DevelopmentTokenRefusal.unknown, "the development token is unknown"), (.expired, "has expired"),
        (.revoked, "is revoked"), (.deviceLimit, "is used up"), (nil, "are switched off"),
    ])
    mutating func `a development token that isn't good says why`(reason: DevelopmentTokenRefusal?, words: String)
        async throws
    {
        bench.settings.development = reason.map { OneDevelopmentToken(refusal: $0) }
        let request = try bench.request { members in
            (members["attestation"], members["nonce"], members["dev_token"]) = (nil, nil, "\"pdt_good\"")
        }
        expect(await refusal(request), .invalidToken, says: words)
    }

    // MARK: Keys

    /// Whoever names another's key learns what everybody is told of every key, and nothing of its app.
    @Test mutating func `a stranger isn't told which app a key was attested for`() async throws {
        let app = #"{"bundle_id":"org.example.chat"}"#
        let nonce = bench.challenge()
        let stranger = try bench.request(nonce: nonce, assertion: bench.assertion(over: bench.challenge())) {
            $0["app"] = app
        }
        expect(await refusal(stranger), .attestationFailed, says: "; the assertion cannot be verified (")
        let holder = try bench.request { $0["app"] = app }
        expect(
            await refusal(holder), .attestationFailed,
            says: "wrong bundle: app.bundle_id is not that of the attested app")
        let team = try bench.request {
            $0["attestation"] = $0["attestation"]?.replacing("ABCDE12345", with: "ABCDE12346")
        }
        expect(await refusal(team), .attestationFailed, says: "wrong team: attestation.team_id")
    }

    @Test mutating func `registration required is said of a key that isn't registered`() async throws {
        bench.device = SimulatedDevice(app: Bench.app)
        let unknown = try bench.request()
        expect(await refusal(unknown), .registrationRequired, says: "registration required (")
    }

    @Test mutating func `a registration hears which part of the app is wrong`() async throws {
        let accepted = try #require(bench.bench.policy.apps.first)
        for (team, bundle, words) in [
            (accepted.teamID, "org.example.wrong", "wrong bundle: the attestation is"),
            ("ZZZZZ99999", accepted.bundleID, "wrong team: the attestation is"),
            ("ZZZZZ99999", "org.example.wrong", "wrong bundle and team: the attestation is"),
        ] {
            let app = try #require(AppID(teamID: team, bundleID: bundle))
            bench.device = SimulatedDevice(app: app)
            let request = try bench.registration { members in
                members["app"] = "{\"bundle_id\":\"\(bundle)\"}"
                members["attestation"] = members["attestation"]?.replacing("ABCDE12345", with: team)
            }
            expect(try await bench.registrar().register(request).refusal, .attestationFailed, says: words)
        }
    }

    @Test mutating func `a registration hears that its environment is wrong`() async throws {
        bench.device = SimulatedDevice(app: Bench.app, options: .init(environment: .development))
        let request = try bench.registration()
        expect(
            try await bench.registrar().register(request).refusal, .attestationFailed,
            says: "wrong environment: keys of the environment development are not accepted here")
    }

    @Test func `registrations without a device key hear it, too`() async throws {
        let registrar = try bench.registrar()
        func refusal(_ body: String) async -> Refusal? {
            await registrar.register(body: Array(body.utf8), from: address("192.0.2.1"), at: start).refusal
        }
        let missing = await refusal(#"{"keyId":"x","attestation":"AA","nonce":"00"}"#)
        #expect(missing?.answer == .malformedRequest)
        #expect(description(missing).contains("; keyId is not base64 of 32 bytes (request "))
        let key = Data(bench.device.keyID).base64EncodedString()
        let wrong = await refusal(#"{"keyId":"\#(key)","attestation":"AA","nonce":"00"}"#)
        #expect(wrong?.answer == .invalidRegistrationNonce && description(wrong).contains("; nonce is not a challenge"))
        let nonce = bench.bench.challenges.issue(at: start).nonce
        let garbage = await refusal(#"{"keyId":"\#(key)","attestation":"AA","nonce":"\#(nonce)"}"#)
        #expect(garbage?.answer == .attestationRejected)
        #expect(description(garbage).contains("; the attestation is not the CBOR that attestKey returned"))
    }
}
