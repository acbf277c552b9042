import Admission
import Testing

struct ClientCertificatePolicyTests {
    private func decision(_ certificate: ClientCertificate?, checks: Bool = true, requiresAuth: Bool = true) throws
        -> AdmissionDecision
    {
        var bench = try Bench()
        bench.settings.clientCertificates = checks ? TrustedChains() : nil
        bench.settings.requiresAppAuth = requiresAuth
        return bench.gate.evaluate(bench.request().with { $0.certificate = certificate })
    }

    @Test func `a client with a verified certificate is admitted as a debug client`() throws {
        let principal = try #require(try decision(.good).admitted?.principal)
        #expect(
            principal.identity == .certificate(sha256: ClientCertificate.good.sha256)
                && (principal.proof as? ClientCertificateProof)?.subject == "CN=MudApp Debug Client"
        )
        #expect(principal.proxyName == "client_certificate")
        #expect(principal.identity.subject == String(repeating: "07", count: 32))
    }

    @Test(arguments: [false, true]) func `an unverified certificate is refused, with or without a name`(
        requiresAuth: Bool
    ) throws {
        let certificate = ClientCertificate.good.with { $0.isVerified = false }
        let refusal = try decision(certificate, requiresAuth: requiresAuth).refusal
        #expect(refusal?.answer == .invalidClientCertificate)
        #expect(refusal?.freshChallenge != nil)
    }

    @Test(arguments: [false, true]) func `a resumed TLS session doesn't count as a certificate`(requiresAuth: Bool)
        throws
    {
        let certificate = ClientCertificate.good.with { $0.isResumedSession = true }
        #expect(try decision(certificate, requiresAuth: requiresAuth).refusal?.answer == .invalidClientCertificate)
    }

    @Test func `a certificate that has expired since the handshake is refused`() throws {
        let last = ClientCertificate.good.with { $0.notAfter = start.unixMilliseconds }
        #expect(try decision(last).admitted != nil)
        let expired = ClientCertificate.good.with { $0.notAfter = start.unixMilliseconds - 1 }
        #expect(try decision(expired).refusal?.answer == .invalidClientCertificate)
        #expect(try decision(ClientCertificate.good.with { $0.notAfter = nil }).admitted != nil)
    }

    @Test func `a client without a certificate gets no opinion`() throws {
        #expect(try decision(nil).refusal?.answer == .appAuthRequired)
        #expect(try decision(nil, requiresAuth: false).admitted?.principal.identity == .anonymous)
    }

    @Test(arguments: [false, true]) func `without a client CA a certificate is ignored`(isVerified: Bool) throws {
        let certificate = ClientCertificate.good.with { $0.isVerified = isVerified }
        #expect(try decision(certificate, checks: false).refusal?.answer == .appAuthRequired)
        #expect(
            try decision(certificate, checks: false, requiresAuth: false).admitted?.principal.identity == .anonymous)
    }
}
