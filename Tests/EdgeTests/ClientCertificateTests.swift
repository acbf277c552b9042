import EdgeTestKit
import Testing

extension EdgeTests {
    /// Admission of debug clients: by a client certificate that verified against the configured CA.
    @Suite struct ClientCertificateTests {
        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func theGuidesCertificateEnters(version: TLSChoice.Version) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let tls = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.client, only: version)
            try await Edge.expectEcho(edge.gateway.open(tls: tls))
        }

        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func aCertificateThatDoesntVerifyIsRefused(version: TLSChoice.Version) async throws {
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

        @Test func withoutACertificateNobodyEnters() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
        }

        @Test func aWrongCertificateIsNoAnonymousClient() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates).clientCA(certificates) }
            try await Edge.expectEcho(edge.gateway.open())
            let tls = TLSChoice(identity: certificates.selfSignedClient)
            let answer = try await edge.gateway.refusal(Handshake(), tls: tls)
            expectRefusal(answer, 401, "invalid_client_certificate")
        }

        /// Without `MTLS_CLIENT_CA_PATH` certificates are ignored.
        @Test func withoutAClientCANoCertificateEnters() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.tls(certificates).appAttest(apple) }
            let answer = try await edge.gateway.refusal(Handshake(), tls: TLSChoice(identity: certificates.client))
            expectRefusal(answer, 401, "app_auth_required")
        }

        /// No fallback: a client that sends assertion headers is checked by them.
        @Test func aGoodCertificateDoesntSaveABadAssertion() async throws {
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

        @Test func aDeviceAndADebugClientShareAGateway() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.tls(certificates).clientCA(certificates).appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(identity: certificates.client)))
        }

        @Test func aRevokedCertificateIsRefusedAndItsNeighbourEnters() async throws {
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

        @Test func aListThatRevokesNobodyLetsEverybodyEnter() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates) { $0.setting("MTLS_CLIENT_CRL_PATH", certificates.emptyCRL) }
            for identity in [certificates.client, certificates.secondClient] {
                try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(identity: identity)))
            }
        }

        @Test func anExpiredListRefusesEverybodyAndIsWarnedOf() async throws {
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
