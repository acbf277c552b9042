import EdgeTestKit
import Testing

extension EdgeTests {
    /// The limits on the gateway's computation for key exchanges.
    @Suite struct KeyExchangeTests {
        private static let request = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

        /// In TLS 1.2 the groups bound the server's certificate too, whose key is on P-256.
        @Test(arguments: [
            ("-tls1_3", "X25519", "X25519"), ("-tls1_3", "P-256", "ECDH, prime256v1"),
            ("-tls1_3", "P-384", "ECDH, secp384r1"), ("-tls1_2", "X25519:P-256", "X25519"),
            ("-tls1_2", "P-256", "ECDH, prime256v1"),
        ])
        func `a cheap key exchange group is negotiated`(version: String, groups: String, shown: String) async throws {
            let edge = try await start()
            let result = try await client(edge, [version, "-groups", groups])
            #expect(result.outputText.contains(" 200 OK"), "\(result)")
            #expect(result.outputLines.contains { Self.isKey($0, of: shown) }, "\(result)")
        }

        @Test(arguments: ["ffdhe2048", "ffdhe8192", "P-521", "X448"])
        func `an expensive key exchange group is refused`(group: String) async throws {
            let edge = try await start()
            let result = try await client(edge, ["-tls1_3", "-groups", group])
            #expect(result.ending != .exited(0) && !result.outputText.contains(" 200 "), "\(result)")
            #expect(result.errorText.contains("handshake failure"), "\(result)")
        }

        /// RFC 8446 section 4.1.4: the client guessed an unsupported group, and is asked for another one.
        @Test func `a client that offers both is asked for the cheap group`() async throws {
            let edge = try await start()
            let result = try await client(edge, ["-tls1_3", "-groups", "ffdhe8192:P-256"])
            #expect(
                result.outputText.contains(" 200 OK") && result.outputText.contains("Key: ECDH, prime256v1"),
                "\(result)")
        }

        /// Computation after the first flight has a quarter of the total: the first is served at once, the next a
        /// second later.
        @Test(arguments: [["-tls1_3", "-groups", "ffdhe2048:P-384"], ["-tls1_2", "-groups", "P-384"]])
        func `expensive later flights have their own rate limit`(options: [String]) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("TLS_HANDSHAKES_PER_SECOND", 4).setting("REACTOR_THREADS", 1)
                    // In TLS 1.2 the groups bound the certificate's key too: this one is RSA.
                    .setting("TLS_CERT_PATH", certificates.otherServer.certificate)
                    .setting("TLS_KEY_PATH", certificates.otherServer.key)
            }
            let began = ContinuousClock.now
            for _ in 0..<2 {
                let result = try await client(edge, options)
                #expect(
                    result.outputText.contains(" 200 OK") && result.outputText.contains("Key: ECDH, secp384r1"),
                    "\(result)")
            }
            // At any speed of the machine; the others have four a second.
            #expect(ContinuousClock.now - began > .milliseconds(900))
        }

        @Test(arguments: ["DHE-RSA-AES128-GCM-SHA256", "AES128-GCM-SHA256", "AES128-SHA", "ECDHE-RSA-AES128-SHA"])
        func `an expensive or weak cipher of TLS 1.2 is refused`(cipher: String) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("TLS_CERT_PATH", certificates.otherServer.certificate)
                    .setting("TLS_KEY_PATH", certificates.otherServer.key)
            }
            let accepted = try await client(edge, ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"])
            #expect(accepted.outputText.contains(" 200 OK"), "\(accepted)")
            let refused = try await client(edge, ["-tls1_2", "-cipher", cipher])
            #expect(refused.ending != .exited(0) && !refused.outputText.contains(" 200 "), "\(refused)")
        }

        @Test func `renegotiation is refused`() async throws {
            let edge = try await start()
            let arguments = connection(edge) + ["-tls1_2"]
            let program = try ChildProcess(ChildProcess.executable("openssl"), arguments)
            try await program.output.wait(for: "the handshake") { $0.outputText.contains("Verify return") ? true : nil }
            try program.write("R\n")
            try await program.ended()
        }

        /// OpenSSL 3.0 names it the server's key, later versions the peer's.
        private static func isKey(_ line: String, of group: String) -> Bool {
            line.hasPrefix("Server Temp Key: \(group), ") || line.hasPrefix("Peer Temp Key: \(group), ")
        }

        private func start() async throws -> Edge {
            let certificates = try await DevCertificates.shared()
            return try await Edge.start { $0.tls(certificates) }
        }

        private func connection(_ edge: Edge) -> [String] {
            ["s_client", "-connect", "127.0.0.1:\(edge.gateway.port)", "-servername", "localhost"]
        }

        private func client(_ edge: Edge, _ options: [String]) async throws -> ChildOutput {
            try await ChildProcess.run("openssl", connection(edge) + options + ["-ign_eof"], input: Self.request)
        }
    }
}
