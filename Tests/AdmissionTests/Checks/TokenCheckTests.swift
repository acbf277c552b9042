import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// The checks of access tokens and proofs, as refusals name them.
struct TokenCheckTests {
    private var bench: TokenBench

    init() throws { bench = try TokenBench() }

    private func refusal(_ request: ResourceRequest, by settings: TokenSettings? = nil) throws -> Refusal {
        switch try ResourceVerifier(settings ?? bench.settings).verify(request) {
        case .success: throw Unexpected.admitted
        case .failure(let refused): return refused.refusal
        }
    }

    private enum Unexpected: Error { case admitted }

    private mutating func token() async throws -> String {
        try #require(await bench.issuer().issue(bench.request()).token).text
    }

    /// A request with one fault each, in the order of the checks.
    private func faults(_ token: String) throws -> [(check: AdmissionCheck, refusal: Refusal)] {
        let url = TokenBench.issuer + "/x"
        func request(_ proofs: [String], _ authorization: String? = nil, at moment: Moment = start) -> ResourceRequest {
            ResourceRequest(
                method: "GET", url: url, authorization: [authorization ?? "Bearer \(token)"], proofs: proofs,
                moment: moment)
        }
        let good = try bench.proof("GET", url)
        var elsewhere = bench.settings
        elsewhere.audience = "https://other.example"
        // First: a token that has been verified once is remembered.
        let wrongAudience = try refusal(request([good]), by: elsewhere)
        let otherKey = try TokenBench().proof("GET", url)
        let used = request([good])
        _ = try ResourceVerifier(bench.settings).verify(used)
        let late = start + 301_000
        return [
            (.authorization, try refusal(request([good], "Basic x"))),
            (.tokenForm, try refusal(request([good], "Bearer a.b.c"))),
            (.tokenSignature, try refusal(request([good], "Bearer \(token.dropLast(4))AAAA"))),
            (.tokenAudience, wrongAudience),
            (.tokenLifetime, try refusal(request([try bench.proof("GET", url, at: late)], at: late))),
            (.proof, try refusal(request([]))), (.proofForm, try refusal(request(["x"]))),
            (.htm, try refusal(request([try bench.proof("POST", url)]))),
            (.htu, try refusal(request([try bench.proof("GET", "https://other.example/x?ticket=secret")]))),
            (.iat, try refusal(request([try bench.proof("GET", url, at: start - 75_000)]))),
            (.ath, try refusal(request([try bench.proof("GET", url)], "DPoP \(token)"))),
            (.tokenKey, try refusal(request([otherKey]))), (.replay, try refusal(used)),
        ]
    }

    @Test mutating func `each fault fails its check, in the order of the table`() async throws {
        let token = try await token()
        let found = try faults(token)
        #expect(found.map { $0.refusal.failed.check } == found.map { $0.check })
        let events: [CheckOrder.Event] = [.authorization, .upgrade]
        for order in events.map({ CheckOrder.checks(of: $0, by: "access_token") }) {
            let places = try found.map { try #require(order.firstIndex(of: $0.check), "\($0.check)") }
            #expect(places == places.sorted())
        }
        for (check, refusal) in found {
            #expect(AdmissionCheck(code: refusal.code.rawValue, detail: refusal.detail) == check, "\(refusal.detail)")
        }
    }

    @Test mutating func `a refusal says what was expected and received, and no secret`() async throws {
        let token = try await token()
        let found = Dictionary(try faults(token).map { ($0.check, $0.refusal.failed) }) { first, _ in first }
        let url = TokenBench.issuer + "/x"
        #expect(found[.htm] == FailedCheck(.htm, expected: "GET", received: "POST"))
        #expect(found[.htu] == FailedCheck(.htu, expected: url, received: "https://other.example/x"))
        #expect(found[.iat]?.expected?.hasPrefix("an iat within 30 s of 20") == true)
        #expect(found[.iat]?.received == "one that is 75 s behind: the client's clock")
        #expect(found[.tokenAudience]?.expected == "aud https://other.example")
        #expect(found[.tokenAudience]?.received == TokenBench.issuer)
        #expect(found[.tokenLifetime]?.received?.hasPrefix("one that expired at 20") == true)
        #expect(found[.tokenKey]?.expected?.contains("to which the token is bound") == true)
        let texts = found.values.flatMap { [$0.expected, $0.received] }.compactMap(\.self).joined()
        for part in token.split(separator: ".") { #expect(!texts.contains(part)) }
        #expect(!texts.contains("secret"))
    }

    @Test mutating func `every refusal of a request for a token is in the table`() async throws {
        var requests = [
            try bench.request { $0["device_key_jwk"] = nil }, try bench.request { $0["nonce"] = "\"x\"" },
            try bench.request { $0["app"] = #"{"bundle_id":"org.example.chat"}"# },
            try bench.request(assertion: [1, 2, 3]), try bench.request(at: start + 90_000),
        ]
        requests[4].moment = start
        let checks: [AdmissionCheck] = [.body, .challenge, .claimedApp, .assertionForm, .iat]
        for (request, check) in zip(requests, checks) {
            let failed = try #require(await bench.issuer().issue(request).refusal).failed
            #expect(failed.check == check, "\(failed)")
            #expect(CheckOrder.checks(of: .token, by: "access_token", failed: check).contains(check))
        }
        bench.settings.development = OneDevelopmentToken(refusal: .revoked)
        let developer = try bench.request { members in
            (members["attestation"], members["nonce"], members["dev_token"]) = (nil, nil, "\"pdt_good\"")
        }
        let failed = try #require(await bench.issuer().issue(developer).refusal).failed
        #expect(failed.check == .developmentToken && failed.received == "revoked")
        #expect(
            CheckOrder.checks(of: .token, by: "access_token", failed: .developmentToken).contains(.developmentToken))
    }

    @Test mutating func `a faulty token is only reported where the gate reports, and a revoked device is refused`()
        async throws
    {
        let token = try await token()
        var settings = bench.bench.settings
        settings.methods = [AccessTokenMethod(bench.settings)] + settings.methods
        settings.appAuth = .reported(until: start.unixMilliseconds + 1_000)
        func decide(_ proof: String) -> AdmissionDecision {
            var request = bench.bench.request()
            request.fields = CredentialFields(
                AccessTokenMethod(nil).fields,
                header: { $0 == "dpop" ? proof : $0 == "authorization" ? "Bearer \(token)" : nil },
                parameter: { _ in nil })
            return Gate(settings).evaluate(request)
        }
        let wrong = try bench.proof("POST", "https://gate.example:6200/")
        #expect(decide(wrong).admitted?.principal.reported?.failed.check == .htm)
        let id = try #require(KeyID(bytes: bench.device.keyID))
        #expect(bench.bench.registry.revoke(id, reason: "lost", at: 1))
        #expect(decide(wrong).refusal?.code == .deviceBlocked)
    }
}
