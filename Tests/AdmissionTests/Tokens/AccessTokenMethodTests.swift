import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Access tokens at the gate.
struct AccessTokenMethodTests {
    private var bench: TokenBench

    init() throws {
        bench = try TokenBench()
    }

    private func gate(blocking list: String = "") throws -> Gate {
        var settings = bench.bench.settings
        settings.methods = [AccessTokenMethod(bench.settings)] + settings.methods
        settings.blockList = try BlockList(list, kinds: [AppAttestMethod.blockListKind])
        return Gate(settings)
    }

    private mutating func token() async throws -> String {
        try #require(await bench.issuer().issue(bench.request()).token).text
    }

    private mutating func developmentToken(for routes: Set<String>? = nil) async throws -> String {
        bench.settings.development = OneDevelopmentToken(
            grant: DevelopmentGrant(id: "ci", name: "the build server", routes: routes))
        let request = try bench.request { members in
            (members["attestation"], members["nonce"], members["dev_token"]) = (nil, nil, "\"pdt_good\"")
        }
        return try #require(await bench.issuer().issue(request).token).text
    }

    private func upgrade(
        _ token: String, scheme: String = "Bearer", proof: String? = nil, at moment: Moment = start,
        changing change: (inout AdmissionRequest) -> Void = { _ in }
    ) throws -> AdmissionRequest {
        let proof = try proof ?? bench.proof("GET", "wss://gate.example:6200/mud/main", at: moment)
        var request = bench.bench.request(at: moment)
        request.path = "/mud/main"
        request.fields = CredentialFields(
            AccessTokenMethod(nil).fields,
            header: { $0 == "dpop" ? proof : $0 == "authorization" ? "\(scheme) \(token)" : nil },
            parameter: { _ in nil })
        change(&request)
        return request
    }

    @Test mutating func `a token with its proof is admitted under its own method`() async throws {
        let token = try await token()
        let admitted = try #require(try gate().evaluate(upgrade(token)).admitted)
        #expect(admitted.principal.identity.method.route == "token")
        let proof = try #require(admitted.principal.proof as? AccessTokenProof)
        #expect(proof.subject == .device(try #require(KeyID(bytes: bench.device.keyID))))
        #expect(proof.signingKeyID == bench.settings.keys.signer(at: start.date)?.keyID)
    }

    @Test mutating func `a request with a token is decided by that method alone`() async throws {
        var settings = bench.bench.settings
        settings.methods = [AccessTokenMethod(bench.settings), AnonymousMethod(isAllowed: true)]
        let token = try await token()
        for scheme in ["Bearer", "bearer", "DPoP", "dpop"] {
            let refusal = Gate(settings).evaluate(try upgrade(token, scheme: scheme, proof: "")).refusal
            #expect(refusal?.status == 401 && refusal?.method == AccessTokenMethod.name)
            let alone = try upgrade(token, scheme: scheme) { request in
                request.fields = CredentialFields(
                    AccessTokenMethod(nil).fields, header: { $0 == "dpop" ? nil : "\(scheme) \(token)" },
                    parameter: { _ in nil })
            }
            #expect(Gate(settings).evaluate(alone).refusal?.code == .invalidToken)
        }
        // Text that isn't a token is no credential of this method.
        for text in ["Bearer secret", "Basic eyJ.a.b", "Bearer eyJ.b", "Bearer a.b.c", "Bearer"] {
            #expect(!AccessTokenCredential.looksLikeToken(text), "\(text)")
        }
    }

    @Test mutating func `a method that isn't configured refuses its credential`() async throws {
        var settings = bench.bench.settings
        settings.methods = [AccessTokenMethod(nil), AnonymousMethod(isAllowed: true)]
        #expect(Gate(settings).evaluate(try upgrade(try await token())).refusal?.code == .invalidToken)
    }

    @Test mutating func `a route distinguishes device and development tokens before the proof is spent`()
        async throws
    {
        let (token, other) = (try await token(), try await developmentToken())
        let (gate, proof) = (try gate(), try bench.proof("GET", "https://gate.example:6200/mud/main"))
        func refusal(_ token: String, _ methods: Set<String>) throws -> Refusal? {
            gate.evaluate(try upgrade(token, proof: proof) { $0.allowedMethods = methods }).refusal
        }
        #expect(try refusal(token, ["dev", "app"])?.code == .wayNotAllowed)
        #expect(try refusal(other, ["token", "app"])?.code == .invalidToken)
        #expect(try refusal(token, ["token"]) == nil)
        #expect(try refusal(token, ["token"])?.code == .invalidProof)
        let admitted = gate.evaluate(try upgrade(other) { $0.allowedMethods = ["dev"] }).admitted
        #expect(admitted?.principal.identity.method == AccessTokenMethod.developmentName)
    }

    @Test mutating func `a development token opens only its routes`() async throws {
        let token = try await developmentToken(for: ["main"])
        let gate = try gate()
        #expect(gate.evaluate(try upgrade(token) { $0.route = "other" }).refusal?.code == .wayNotAllowed)
        #expect(gate.evaluate(try upgrade(token)).refusal?.code == .wayNotAllowed)
        #expect(gate.evaluate(try upgrade(token) { $0.route = "main" }).admitted != nil)
    }

    @Test mutating func `a blocked key is refused with a token, too`() async throws {
        let token = try await token()
        let key = Data(bench.device.keyID).base64EncodedString()
        #expect(try gate(blocking: "key \(key)\n").evaluate(upgrade(token)).refusal?.code == .deviceBlocked)
        #expect(try gate().evaluate(upgrade(token)).admitted != nil)
    }

    @Test mutating func `an admitted identity is checked again for tickets and resumes`() async throws {
        let gate = try gate()
        let token = try await token()
        let principal = try #require(gate.evaluate(try upgrade(token)).admitted?.principal)
        let here = address("192.0.2.1")
        let late = start + 300_000
        #expect(gate.recheck(principal, from: here, at: late) == nil)
        bench.settings.sessionOutlivesToken = false
        #expect(try self.gate().recheck(principal, from: here, at: start + 299_999) == nil)
        #expect(try self.gate().recheck(principal, from: here, at: late)?.code == .invalidTicket)
        let device = try #require(KeyID(bytes: bench.device.keyID))
        #expect(bench.bench.registry.revoke(device, reason: "lost", at: 1))
        #expect(gate.recheck(principal, from: here, at: start)?.code == .keyRevoked)
        #expect(bench.bench.registry.restore(device))
        #expect(gate.recheck(principal, from: here, at: start) == nil)
        let signer = try #require(bench.settings.keys.signer(at: start.date)?.keyID)
        var stored = StoredSigningKeys(revoked: [.init(id: signer, revokedAt: 1)])
        #expect(bench.settings.keys.replace(stored))
        #expect(gate.recheck(principal, from: here, at: start)?.code == .invalidTicket)
        #expect(gate.evaluate(try upgrade(token)).refusal?.code == .invalidToken)
        // An older state of the store comes late.
        stored.revoked = []
        #expect(bench.settings.keys.replace(stored))
        #expect(gate.recheck(principal, from: here, at: start)?.code == .invalidTicket)
    }

    @Test mutating func `a token for another issuer, audience, path or method isn't accepted`() async throws {
        let token = try await token()
        var other = bench.settings
        other.issuer = "https://other.example"
        #expect(try ResourceVerifier(other).verify(bench.resource(token)).refusal?.code == .invalidToken)
        other = bench.settings
        other.audience = "https://other.example"
        #expect(try ResourceVerifier(other).verify(bench.resource(token)).refusal?.code == .invalidToken)
        for change in [
            { @Sendable (request: inout ResourceRequest) in request.url = "https://gate.example/y" },
            { $0.method = "POST" }, { $0.proofs = [] }, { $0.proofs += $0.proofs }, { $0.authorization = [] },
            { $0.authorization += $0.authorization }, { $0.authorization = ["Basic abc"] },
        ] {
            var request = try bench.resource(token)
            change(&request)
            let status = try ResourceVerifier(bench.settings).verify(request).refusal?.status
            #expect(status == 401 || status == 400)
        }
        var query = try bench.resource(token)
        query.url += "?a=1#b"
        #expect(throws: Never.self) { try ResourceVerifier(bench.settings).verify(query).get() }
    }

    /// A proof for another server would be good at this one if the `Host` of the request alone counted.
    @Test mutating func `a proof for a host that the certificate doesn't name is refused`() async throws {
        let token = try await token()
        let gate = try gate()
        for host in ["evil.example", "evil.example:6200", "gate.example", "gate.example:443", ""] {
            let proof = try bench.proof("GET", "https://\(host)/mud/main")
            let refusal = gate.evaluate(try upgrade(token, proof: proof) { $0.host = host }).refusal
            #expect(refusal?.answer == .invalidProof && refusal?.failed.check == .htu)
            #expect(refusal?.failed.received == host && refusal?.failed.expected?.contains("gate.example") == true)
        }
        // Also a proof for the gateway itself, in a request to another one.
        let elsewhere = try upgrade(token) { $0.host = "evil.example" }
        #expect(gate.evaluate(elsewhere).refusal?.answer == .invalidProof)
        #expect(gate.evaluate(try upgrade(token) { $0.host = nil }).refusal?.answer == .invalidProof)
        #expect(gate.evaluate(try upgrade(token)).admitted != nil)
    }

    @Test mutating func `with a public origin the request's host doesn't matter`() async throws {
        let token = try await token()
        bench.settings.origins = .setting("https://public.example")
        let gate = try gate()
        for host in [nil, "public.example", "10.0.0.7:6200"] {
            let proof = try bench.proof("GET", "https://public.example/mud/main")
            #expect(gate.evaluate(try upgrade(token, proof: proof) { $0.host = host }).admitted != nil)
            let wrong = try bench.proof("GET", "https://\(host ?? "gate.example:6200")/mud/other")
            #expect(gate.evaluate(try upgrade(token, proof: wrong) { $0.host = host }).refusal?.failed.check == .htu)
        }
    }

    @Test mutating func `without any known origin no proof is looked at`() async throws {
        let token = try await token()
        bench.settings.origins = .unknown
        #expect(try gate().evaluate(upgrade(token)).refusal?.answer == .publicOriginRequired)
        #expect(bench.settings.replays.resource.count == 0)
    }
}
