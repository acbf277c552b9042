import EdgeTestKit
import Testing

extension EdgeTests {
    /// What clients pin, and which versions of TLS they may speak.
    @Suite struct PinTests {
        @Test func `the oldest version of TLS changes with a reload`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let (old, new) = (TLSChoice(only: .tls12), TLSChoice(only: .tls13))
            let socket = try await edge.gateway.open(tls: old)
            try await edge.gateway.reload(edge.gateway.settings.setting("TLS_MIN_VERSION", "1.3"))
            try await Edge.expectEcho(socket)
            try await Edge.expectEcho(edge.gateway.open(tls: new))
            await #expect(throws: (any Error).self) { _ = try await edge.gateway.open(tls: old) }
            try await edge.gateway.reload(edge.gateway.settings.setting("TLS_MIN_VERSION", "1.2"))
            try await Edge.expectEcho(edge.gateway.open(tls: old))
        }

        @Test func `both pins are printed`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let settings = edge.gateway.settings
            let none = try await GatewayProcess.run(["certificate", "pins"], settings)
            #expect(none.ending == .exited(0) && none.outputText.contains("next    none"), "\(none)")
            let next = certificates.otherServer.certificate
            let both = try await GatewayProcess.run(["certificate", "pins", "--next", next], settings)
            let pins = both.outputText.matches(of: /(?:in use|next) {2,4}([A-Za-z0-9+\/]{43}=)\n/).map(\.output.1)
            #expect(pins.count == 2 && Set(pins).count == 2, "\(both)")
            let named = try await GatewayProcess.run(
                ["certificate", "pins"], settings.setting("NEXT_CERT_PATH", next))
            #expect(named.outputText == both.outputText)
            let wrong = try await GatewayProcess.run(
                ["certificate", "pins", "--next", certificates.server.key], settings)
            #expect(wrong.ending != .exited(0), "\(wrong)")
        }

        /// Whatever the certificates' dates are.
        @Test func `a reload warns of a new key that wasn't announced, and of no other`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let (first, second) = (certificates.server, certificates.otherServer)
            let warning = "the certificate has another key than NEXT_CERT_PATH has announced"
            func reload(_ pair: DevCertificates.Identity, announcing next: DevCertificates.Identity) async throws {
                let settings = edge.gateway.settings.setting("TLS_CERT_PATH", pair.certificate)
                    .setting("TLS_KEY_PATH", pair.key).setting("NEXT_CERT_PATH", next.certificate)
                try await edge.gateway.reload(settings)
            }
            try await reload(first, announcing: second)
            try await reload(second, announcing: second)
            // The one after it is announced with the change.
            try await reload(second, announcing: first)
            try await reload(first, announcing: first)
            #expect(!edge.gateway.output.errorText.contains("NEXT_CERT_PATH has announced"))
            #expect(!edge.gateway.output.errorText.contains("isn't older than"))
            try await reload(second, announcing: second)
            try await edge.gateway.logLine(warning)
        }
    }
}
