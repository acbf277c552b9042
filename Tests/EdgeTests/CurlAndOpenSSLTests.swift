import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Common command-line clients.
    @Suite struct CurlAndOpenSSLTests {
        @Test func `curl fetches a challenge over verified TLS`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let result = try await ChildProcess.check(
                "curl",
                [
                    "-sS", "--fail", "--cacert", certificates.serverCA,
                    "https://localhost:\(edge.gateway.port)/attest/challenge",
                ])
            let fields = try JSONDecoder().decode([String: String].self, from: Data(result.standardOutput))
            #expect(fields["nonce"]?.count == 64)
        }

        @Test func `curl registers a device`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let body = try apple.device().registration(nonce: try await edge.gateway.challenge())
            let result = try await ChildProcess.check(
                "curl",
                [
                    "-sS", "--cacert", certificates.serverCA, "-w", " %{http_code}", "-H",
                    "Content-Type: application/json", "--data-binary", "@-",
                    "https://localhost:\(edge.gateway.port)/attest/register",
                ], input: body)
            #expect(result.outputText == #"{"registered":true} 200"#)
        }

        @Test func `curl shows the refusal of a client without credentials`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let result = try await ChildProcess.check(
                "curl",
                [
                    "-sSi", "--http1.1", "--cacert", certificates.serverCA, "-H", "Connection: Upgrade", "-H",
                    "Upgrade: websocket", "-H", "Sec-WebSocket-Version: 13", "-H",
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "https://localhost:\(edge.gateway.port)/",
                ])
            #expect(result.outputText.hasPrefix("HTTP/1."))
            #expect(result.outputText.contains(" 401 "), "\(result)")
            #expect(result.outputText.contains("app_auth_required"))
            #expect(result.outputText.lowercased().contains("x-app-assert-challenge: "))
        }

        @Test(arguments: ["-tls1", "-tls1_1"])
        func `TLS 1.0 and 1.1 are refused`(version: String) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let result = try await client(edge, [version, "-cipher", "ALL:@SECLEVEL=0"], sending: "")
            #expect(result.ending != .exited(0), "\(result)")
        }

        @Test(arguments: ["-tls1_2", "-tls1_3"])
        func `openssl with the guide's certificate gets its 101`(version: String) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let arguments =
                connection(edge) + [
                    version, "-CAfile", certificates.serverCA, "-verify_return_error", "-cert",
                    certificates.client.certificate, "-key", certificates.client.key, "-ign_eof",
                ]
            let program = try ChildProcess(ChildProcess.executable("openssl"), arguments)
            try program.write(Handshake().text)
            try await program.output.wait(for: "a 101") { $0.outputText.contains(" 101 ") ? true : nil }
            program.signal(9)
            try await program.ended()
        }

        /// A resumed TLS session reports the first session's certificate as verified; it must not be accepted.
        @Test(arguments: ["-tls1_2", "-tls1_3"])
        func `a resumed TLS session doesn't count as a certificate`(version: String) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let directory = try TemporaryDirectory()
            let session = directory.file("session.pem")
            let first = try await client(
                edge,
                [
                    version, "-cert", certificates.client.certificate, "-key", certificates.client.key, "-sess_out",
                    session,
                ], sending: "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(first.outputText.contains(" 200 "), "\(first)")
            let hasSession = FileManager.default.fileExists(atPath: session)
            let second = try await client(
                edge, [version] + (hasSession ? ["-sess_in", session] : []), sending: Handshake().text)
            #expect(second.outputText.contains(" 401 ") && second.outputText.contains("app_auth_required"), "\(second)")
            #expect(!second.outputText.contains("Reused, "), "\(second)")
        }

        /// RFC 8446 section 4.6.3: a client may update its keys and request updates of the server's, but not without
        /// limit. s_client accepts one command at a time.
        @Test func `a client that requests new keys repeatedly loses the connection`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await start(certificates)
            let program = try ChildProcess(ChildProcess.executable("openssl"), connection(edge) + ["-tls1_3"])
            for number in 1...16 {
                try program.write("K\n")
                try await program.output.wait(for: "update \(number)") {
                    $0.errorText.ranges(of: "KEYUPDATE").count == number ? true : nil
                }
            }
            try program.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await program.output.wait(for: "an answer") { $0.outputText.contains(" 200 OK") ? true : nil }
            try program.write("K\n")
            try await program.ended()
        }

        private func start(_ certificates: DevCertificates) async throws -> Edge {
            try await Edge.start { $0.tls(certificates).clientCA(certificates).setting("REQUIRE_APP_AUTH", "true") }
        }

        private func connection(_ edge: Edge) -> [String] {
            ["s_client", "-connect", "127.0.0.1:\(edge.gateway.port)", "-servername", "localhost"]
        }

        /// Runs s_client until the server ends the connection.
        private func client(_ edge: Edge, _ options: [String], sending text: String) async throws -> ChildOutput {
            try await ChildProcess.run("openssl", connection(edge) + options + ["-ign_eof"], input: text)
        }
    }
}
