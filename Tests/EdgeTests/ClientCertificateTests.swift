import EdgeTestKit
import Testing

extension EdgeTests {
    /// Admission of debug clients: by a client certificate that verified against the configured CA.
    @Suite struct ClientCertificateTests {
        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func `the guide's certificate is admitted`(version: TLSChoice.Version) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let tls = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.client, only: version)
            try await Edge.expectEcho(edge.gateway.open(tls: tls))
        }

        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func `a certificate that doesn't verify is refused`(version: TLSChoice.Version) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let wrong = [
                certificates.expiredClient, certificates.foreignClient, certificates.selfSignedClient,
                certificates.clientOfServerCA,
            ]
            for identity in wrong {
                let tls = TLSChoice(identity: identity, only: version)
                let answer = try await edge.gateway.refusal(Handshake(), tls: tls)
                expectRefusal(answer, 401, "invalid_client_certificate")
            }
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `without a certificate the client is refused`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
        }

        @Test func `a client with a wrong certificate isn't treated as anonymous`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates).clientCA(certificates) }
            try await Edge.expectEcho(edge.gateway.open())
            let tls = TLSChoice(identity: certificates.selfSignedClient)
            let answer = try await edge.gateway.refusal(Handshake(), tls: tls)
            expectRefusal(answer, 401, "invalid_client_certificate")
        }

        /// Without `MTLS_CLIENT_CA_PATH` certificates are ignored.
        @Test func `without a client CA no certificate is admitted`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.tls(certificates).appAttest(apple) }
            let answer = try await edge.gateway.refusal(Handshake(), tls: TLSChoice(identity: certificates.client))
            expectRefusal(answer, 401, "app_auth_required")
        }

        /// No fallback: a client that sends assertion headers is checked by them.
        @Test func `a valid certificate doesn't make up for an invalid assertion`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let tls = TLSChoice(identity: certificates.client)
            for header in ["X-App-Assert-KeyId", "X-App-Assert-Data", "X-App-Assert-Nonce"] {
                for value in ["", "x"] {
                    let answer = try await edge.gateway.refusal(Handshake().adding(header, value), tls: tls)
                    #expect(answer.status == 401, "\(answer)")
                }
            }
        }

        @Test func `a device and a debug client share a gateway`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.tls(certificates).clientCA(certificates).appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(identity: certificates.client)))
        }

        @Test func `a revoked certificate is refused and another of the same CA is admitted`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates) { $0.setting("MTLS_CLIENT_CRL_PATH", certificates.revokingCRL) }
            for version in [TLSChoice.Version.tls12, .tls13] {
                let revoked = TLSChoice(identity: certificates.client, only: version)
                let answer = try await edge.gateway.refusal(Handshake(), tls: revoked)
                expectRefusal(answer, 401, "invalid_client_certificate")
                let other = TLSChoice(identity: certificates.secondClient, only: version)
                try await Edge.expectEcho(edge.gateway.open(tls: other))
            }
        }

        @Test func `an empty revocation list admits every client of the CA`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates) { $0.setting("MTLS_CLIENT_CRL_PATH", certificates.emptyCRL) }
            for identity in [certificates.client, certificates.secondClient] {
                try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(identity: identity)))
            }
        }

        @Test func `an expired revocation list refuses every client and causes a warning`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates) { $0.setting("MTLS_CLIENT_CRL_PATH", certificates.expiredCRL) }
            for identity in [certificates.client, certificates.secondClient] {
                let answer = try await edge.gateway.refusal(Handshake(), tls: TLSChoice(identity: identity))
                expectRefusal(answer, 401, "invalid_client_certificate")
            }
            try await edge.gateway.logLine("MTLS_CLIENT_CRL_PATH")
            let check = try await GatewayProcess.run(["check-config"], edge.gateway.settings)
            #expect((check.outputText + check.errorText).contains("MTLS_CLIENT_CRL_PATH"), "\(check)")
        }

        private func start(
            _ certificates: DevCertificates, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            try await Edge.start {
                change($0.tls(certificates).clientCA(certificates).setting("REQUIRE_APP_AUTH", "true"))
            }
        }
    }
}
