import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Tests the kit's client against a server on NIO's WebSocket codec, before it is used to test the gateway.
    @Suite struct KitSelfTests {
        @Test func `the client and another implementation understand each other`() async throws {
            let server = try await EchoWebSocketServer.start()
            let socket = try await open(server)
            for length in [0, 1, 125, 126, 65_535, 65_536, 200_000] {
                let payload = [UInt8](repeating: UInt8(length & 0xFF), count: length)
                try await socket.send(binary: payload)
                let frame = try await socket.nextFrame()
                #expect(frame == .binary(payload))
            }
        }

        @Test func `the client fragments and closes as another implementation expects`() async throws {
            let server = try await EchoWebSocketServer.start()
            let socket = try await open(server)
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.binary, [1, 2], isFinal: false))
            try await socket.send(.ping([9]))
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.continuation, [3]))
            #expect(try await socket.nextFrame().isFinal == false)
            #expect(try await socket.nextFrame().opcode == WebSocketFrame.Opcode.pong)
            #expect(try await socket.nextFrame().payload == [3])
            let close = try await socket.close(4000)
            #expect(close.code == 4000)
        }

        @Test func `a wait for an event that never comes fails at its deadline`() async throws {
            let nothing = Awaited(0)
            await #expect(throws: EdgeTestError.self) {
                try await nothing.wait(for: "the impossible", within: .milliseconds(10)) { $0 > 0 ? $0 : nil }
            }
        }

        @Test func `the target flushes its echo before it ends`() async throws {
            let target = try await TargetServer.start(.echo)
            let connection = try await RawConnection.open(port: target.port)
            let payload = [UInt8](repeating: 7, count: 1 << 20)
            connection.post(payload)
            try await connection.finishSending()
            #expect(try await connection.receiveToEnd() == payload)
        }

        @Test func `every kind of certificate is created`() async throws {
            let certificates = try await DevCertificates.shared()
            let identities = [
                certificates.server, certificates.client, certificates.secondClient, certificates.expiredClient,
                certificates.foreignClient, certificates.selfSignedClient, certificates.clientOfServerCA,
            ]
            for identity in identities {
                #expect(FileManager.default.fileExists(atPath: identity.certificate))
                #expect(FileManager.default.fileExists(atPath: identity.key))
            }
            for list in [certificates.revokingCRL, certificates.emptyCRL, certificates.expiredCRL] {
                #expect(FileManager.default.fileExists(atPath: list))
            }
            let verified = try await ChildProcess.run(
                "openssl", ["verify", "-CAfile", certificates.clientCA, certificates.client.certificate])
            #expect(verified.ending == .exited(0))
            #expect(try await text(of: certificates.secondClient).contains("Version: 1 (0x0)"))
            // Newer versions of OpenSSL add extensions.
            if try await ChildProcess.check("openssl", ["version"]).outputText.hasPrefix("OpenSSL 3.0.") {
                #expect(try await text(of: certificates.client).contains("Version: 1 (0x0)"))
            }
        }

        private func text(of identity: DevCertificates.Identity) async throws -> String {
            try await ChildProcess.check("openssl", ["x509", "-noout", "-text", "-in", identity.certificate]).outputText
        }

        /// NIO's BoringSSL shows a certificate of X.509 v1, and OpenSSL verifies it: here without the gateway between.
        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func `the TLS client presents the guide's certificate`(version: TLSChoice.Version) async throws {
            let certificates = try await DevCertificates.shared()
            let arguments = [
                "s_server", "-accept", "127.0.0.1:0", "-cert", certificates.server.certificate, "-key",
                certificates.server.key, "-CAfile", certificates.clientCA, "-Verify", "1", "-verify_return_error",
                "-www",
            ]
            let program = try ChildProcess(ChildProcess.executable("openssl"), arguments)
            defer { program.signal(9) }
            let port = try await program.output.wait(for: "openssl's port") { output in
                output.outputLines.first { $0.hasPrefix("ACCEPT") }?.split(separator: ":").last.flatMap { Int($0) }
            }
            let choices = [
                certificates.client: "Verify return code: 0 (ok)",
                certificates.secondClient: "Verify return code: 0 (ok)", certificates.selfSignedClient: "",
            ]
            for (identity, expected) in choices {
                let tls = TLSChoice(trustedCA: certificates.serverCA, identity: identity, only: version)
                let connection = try await RawConnection.open(port: port, tls: tls)
                connection.post(Array("GET / HTTP/1.0\r\n\r\n".utf8))
                let page = String(decoding: try await connection.receiveToEnd(), as: UTF8.self)
                #expect(expected.isEmpty ? page.isEmpty : page.contains(expected), "\(page)")
            }
        }

        private func open(_ server: EchoWebSocketServer) async throws -> TestWebSocket {
            let connection = try await RawConnection.open(port: server.port)
            guard case .open(let socket) = try await TestWebSocket.attempt(Handshake(), on: connection) else {
                throw EdgeTestError("the echo server refused")
            }
            return socket
        }
    }
}
