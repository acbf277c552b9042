import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A server's certificate that clients don't accept, or won't accept soon. The clients here don't verify it.
    @Suite struct CertificateExpiryTests {
        private let day = 86_400
        private let folder: TemporaryDirectory

        init() throws {
            folder = try TemporaryDirectory()
        }

        private func start(from start: Int, to end: Int) async throws -> Edge {
            let identity = try await DevCertificates.shared().server(from: start, to: end, in: folder)
            let certificates = try await DevCertificates.shared()
            return try await Edge.start {
                $0.tls(certificates).setting("TLS_CERT_PATH", identity.certificate)
                    .setting("TLS_KEY_PATH", identity.key)
            }
        }

        @Test(arguments: [
            (-20, -1, "certificate expired at", "degraded"), (1, 20, "certificate isn't valid until", "degraded"),
            (-20, 13, "certificate expires at", "healthy"),
        ])
        func `health warns about the certificate and is degraded without a valid one`(
            from start: Int, to end: Int, words: String, status: String
        ) async throws {
            let edge = try await self.start(from: start * day, to: end * day)
            let answer = try await edge.gateway.get("/health")
            #expect(answer.status == 200 && answer.field("status") == status)
            #expect(answer.text.contains(words), "\(answer)")
        }

        @Test func `a certificate with more than 14 days left causes no warning`() async throws {
            let edge = try await self.start(from: -day, to: 15 * day)
            let answer = try await edge.gateway.get("/health")
            #expect(answer.status == 200 && !answer.text.contains("warnings"), "\(answer)")
        }

        @Test func `a certificate that expires at run time is logged again until a reload replaces it`() async throws {
            let edge = try await self.start(from: -day, to: 12)
            #expect(try await edge.gateway.get("/health").text.contains("certificate expires at"))
            try await edge.gateway.errorLine("WARNING", "The server's certificate expired at", within: .seconds(60))
            #expect(try await edge.gateway.get("/health").text.contains("certificate expired at"))

            let renewed = try await DevCertificates.shared().server(from: -day, to: 90 * day, in: folder)
            let path = try #require(edge.gateway.settings["TLS_CERT_PATH"])
            let keyPath = try #require(edge.gateway.settings["TLS_KEY_PATH"])
            try Data(contentsOf: URL(fileURLWithPath: renewed.certificate)).write(to: URL(fileURLWithPath: path))
            try Data(contentsOf: URL(fileURLWithPath: renewed.key)).write(to: URL(fileURLWithPath: keyPath))
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine(" reloaded")
            #expect(try await !edge.gateway.get("/health").text.contains("warnings"))
        }
    }
}
