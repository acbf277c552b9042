import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Settings and files of a running gateway change while a session continues.
    @Suite struct ReloadTests {
        enum Way: CaseIterable { case signal, command }

        @Test(arguments: Way.allCases)
        func `a certificate is replaced under a session`(way: Way) async throws {
            let bench = try await Bench()
            let socket = try await bench.gateway.open(tls: TLSChoice(trustedCA: bench.certificates.serverCA))
            try bench.show(bench.certificates.otherServer)
            try await bench.reload(way)
            try await Edge.expectEcho(socket)
            for version in [TLSChoice.Version.tls12, .tls13] {
                let trusted = TLSChoice(trustedCA: bench.certificates.otherServerCA, only: version)
                try await Edge.expectEcho(bench.gateway.open(tls: trusted))
                let old = TLSChoice(trustedCA: bench.certificates.serverCA, only: version)
                await #expect(throws: (any Error).self) { _ = try await bench.gateway.open(tls: old) }
            }
        }

        @Test(arguments: Way.allCases)
        func `a client CA is replaced under its sessions`(way: Way) async throws {
            let bench = try await Bench {
                $0.setting("REQUIRE_APP_AUTH", "true").removing("MTLS_CLIENT_CRL_PATH")
            }
            let (old, new) = (bench.certificates.client, bench.certificates.foreignClient)
            let socket = try await bench.gateway.open(tls: TLSChoice(identity: old))
            // An older connection can't bypass the change: its credentials are checked again.
            let waiting = try await bench.gateway.connect(TLSChoice(identity: old))
            try await waiting.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await waiting.answer().status == 200)

            try bench.put(bench.certificates.foreignCA, at: "ca.pem")
            try await bench.reload(way)
            try await Edge.expectEcho(socket)
            try await Edge.expectEcho(bench.gateway.open(tls: TLSChoice(identity: new)))
            let refused = try await bench.gateway.refusal(Handshake(), tls: TLSChoice(identity: old))
            expectRefusal(refused, 401, "invalid_client_certificate")
            guard case .refused(let answer, _) = try await TestWebSocket.attempt(Handshake(), on: waiting) else {
                throw EdgeTestError("the old connection was admitted")
            }
            expectRefusal(answer, 401, "invalid_client_certificate")
        }

        @Test(arguments: Way.allCases)
        func `a certificate that enters the list loses its own session only`(way: Way) async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let revoked = TLSChoice(identity: bench.certificates.client)
            let other = TLSChoice(identity: bench.certificates.secondClient)
            let socket = try await bench.gateway.open(tls: revoked)
            let neighbour = try await bench.gateway.open(tls: other)
            try await bench.reload(way)
            try await Edge.expectEcho(socket)

            try bench.put(bench.certificates.revokingCRL, at: "list.crl")
            try await bench.reload(way)
            try await expectBlocked(socket)
            try await Edge.expectEcho(neighbour)
            try await Edge.expectEcho(bench.gateway.open(tls: other))
            let refused = try await bench.gateway.refusal(Handshake(), tls: revoked)
            expectRefusal(refused, 401, "invalid_client_certificate")
        }

        /// Its client doesn't answer the Close, so the session remains for a while.
        @Test func `a session that is ending isn't counted again`() async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let socket = try await bench.gateway.open(tls: TLSChoice(identity: bench.certificates.client))
            try bench.put(bench.certificates.revokingCRL, at: "list.crl")
            for _ in 0..<3 { try await bench.reload(.command) }
            try await expectBlocked(socket)
            let closed = bench.gateway.output.errorLines.filter {
                $0.contains("sessions of revoked certificates closed")
            }
            #expect(closed.count == 1, "\(closed)")
        }

        @Test(arguments: Way.allCases)
        func `a blocked client loses its own session only`(way: Way) async throws {
            let bench = try await Bench { $0.setting("REQUIRE_APP_AUTH", "true") }
            let blocked = TLSChoice(identity: bench.certificates.client)
            let other = TLSChoice(identity: bench.certificates.secondClient)
            let socket = try await bench.gateway.open(tls: blocked)
            let neighbour = try await bench.gateway.open(tls: other)
            let fingerprint = try await bench.fingerprint(of: bench.certificates.client)
            try bench.directory.write("address 192.0.2.0/24\ncertificate \(fingerprint)\n", to: "blocked")
            try await bench.reload(way)
            try await bench.gateway.logLine("setting changed", "BLOCK_LIST_PATH")
            try await expectBlocked(socket)
            try await Edge.expectEcho(neighbour)
            #expect(try await bench.gateway.refusal(Handshake(), tls: blocked).status == 403)
            try await Edge.expectEcho(bench.gateway.open(tls: other))

            try bench.directory.write("address 127.0.0.0/8\n", to: "blocked")
            try await bench.reload(way)
            try await expectBlocked(neighbour)
            #expect(try await bench.gateway.refusal(Handshake(), tls: other).status == 403)
        }

        @Test(arguments: Way.allCases, [true, false])
        func `a rotated audit log continues in a new file`(way: Way, areSettingsGood: Bool) async throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("audit.log")
            let bench = try await Bench { $0.setting("AUDIT_LOG_PATH", path) }
            try await Edge.expectEcho(bench.gateway.open())
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            if !areSettingsGood { try bench.set(["MAX_BODY_BYTES": "none"]) }
            try await bench.reload(way, succeeds: areSettingsGood)
            // The command has answered, so the new file is there.
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("admitted") == false)
            try await Edge.expectEcho(bench.gateway.open())
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("admitted"))
            #expect(try String(contentsOfFile: path + ".1", encoding: .utf8).contains("admitted"))
        }

        @Test(arguments: Way.allCases)
        func `a reload changes compression for new sessions only`(way: Way) async throws {
            let bench = try await Bench { $0.setting("DEFAULT_DIALECT", "raw") }
            let plain = try await DeflateClient.open(bench.edge)
            #expect(plain.answer == nil)
            try bench.set(["WS_COMPRESSION": "on"])
            try await bench.reload(way)
            let compressed = try await DeflateClient.open(bench.edge)
            #expect(compressed.answer?.hasPrefix("permessage-deflate") == true)
            try bench.set(["WS_COMPRESSION": "off"])
            try await bench.reload(way)
            #expect(try await DeflateClient.open(bench.edge).answer == nil)
            let text = String(repeating: "You are standing in a clearing. ", count: 20)
            try await Edge.expectEcho(plain.socket, text)
            try await compressed.send(text)
            #expect(try await compressed.receiveText(text.utf8.count) == text)
            #expect(compressed.received < text.utf8.count)
        }

        @Test(arguments: Way.allCases)
        func `a reload changes a route and a limit`(way: Way) async throws {
            let bench = try await Bench()
            let second = try await TargetServer.start(.echo)
            let socket = try await bench.gateway.open()
            let path = Handshake().path("/mud/second")
            try await expectClosed(bench.open(path), 1008)
            try bench.set([
                "MUD_ROUTES": "second=127.0.0.1:\(second.port)", "MAX_BODY_BYTES": "20000", "WS_PORT": "1",
            ])
            try await bench.reload(way)
            try await bench.gateway.logLine("setting changed", "TARGET_ROUTES")
            try await bench.gateway.logLine("setting changed", "MAX_BODY_BYTES", "65536 -> 20000")
            try await bench.gateway.logLine("with a restart only", "WS_PORT")
            try await Edge.expectEcho(socket)
            try await Edge.expectEcho(bench.gateway.open(path))
            #expect(second.connectionCount == 1)
            let large = String(repeating: "x", count: 20_001)
            #expect(try await bench.gateway.post("/ticket", large).status == 413)
        }

        @Test(arguments: Way.allCases)
        func `one broken file keeps all settings unchanged`(way: Way) async throws {
            let bench = try await Bench()
            let socket = try await bench.gateway.open()
            try bench.show(bench.certificates.otherServer)
            try bench.directory.write("no key at all", to: "server.key")
            try bench.set(["MUD_ROUTES": "second=127.0.0.1:\(bench.edge.target.port)", "MAX_BODY_BYTES": "12"])
            let output = try await bench.reload(way, succeeds: false)
            for name in ["TLS_KEY_PATH", "MAX_BODY_BYTES"] {
                try await bench.gateway.logLine("reload refused", name)
                if let output { #expect(output.errorText.contains(name), "\(output)") }
            }
            try await Edge.expectEcho(socket)
            let usual = TLSChoice(trustedCA: bench.certificates.serverCA)
            try await Edge.expectEcho(bench.gateway.open(tls: usual))
            try await expectClosed(bench.open(Handshake().path("/mud/second")), 1008)
        }

        @Test func `a revoked key loses its own session only, immediately`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let other = try await apple.enrolledDevice(at: edge.gateway)
            let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
            let neighbour = try await edge.gateway.open(other.handshake(at: edge.gateway))
            try await Edge.expectEcho(socket)
            #expect(try await edge.gateway.keys("revoke", device.keyID).ending == .exited(0))
            try await expectBlocked(socket)
            try await Edge.expectEcho(neighbour)

            // Again: a restored key can be revoked once more.
            #expect(try await edge.gateway.keys("restore", device.keyID).ending == .exited(0))
            let next = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await Edge.expectEcho(next)
            #expect(try await edge.gateway.keys("revoke", device.keyID).ending == .exited(0))
            try await expectBlocked(next)
            try await Edge.expectEcho(neighbour)
        }

        @Test func `the command reports if the gateway doesn't notice a revocation`() async throws {
            let apple = try SimulatedApple()
            let directory = try TemporaryDirectory()
            let socket = directory.file("control.sock")
            let edge = try await Edge.start { $0.appAttest(apple).setting("CONTROL_SOCKET_PATH", socket) }
            let other = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let stranger = try await apple.enrolledDevice(at: other.gateway)
            let settings = edge.gateway.settings
            for (store, key, isNoticed) in [
                (edge.gateway.storePath, device.keyID, true), (other.gateway.storePath, stranger.keyID, false),
            ] {
                let output = try await GatewayProcess.run(
                    ["keys", "revoke", key], settings.setting("ATTESTED_KEYS_PATH", store))
                #expect(output.ending == .exited(0), "\(output)")
                #expect(output.errorText.contains("hasn't noticed") != isNoticed, "\(output)")
            }
        }

        private func expectBlocked(_ socket: TestWebSocket) async throws {
            let close = try await socket.closedByServer(within: .seconds(10))
            #expect(close.code == 1008 && close.reason == "device_blocked", "\(close)")
        }

        private func expectClosed(_ socket: TestWebSocket, _ code: Int) async throws {
            #expect(try await socket.closedByServer().code == code)
        }
    }
}

extension EdgeTests.ReloadTests {
    /// A gateway whose files a test can change.
    struct Bench {
        let certificates: DevCertificates
        let directory: TemporaryDirectory
        let edge: Edge
        var gateway: GatewayProcess { edge.gateway }

        init(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
            let certificates = try await DevCertificates.shared()
            let directory = try TemporaryDirectory()
            self.certificates = certificates
            self.directory = directory
            try Self.put(certificates.server.certificate, directory.file("server.crt"))
            try Self.put(certificates.server.key, directory.file("server.key"))
            try Self.put(certificates.clientCA, directory.file("ca.pem"))
            try Self.put(certificates.emptyCRL, directory.file("list.crl"))
            try directory.write("", to: "blocked")
            edge = try await Edge.start { settings in
                change(
                    settings.tls(certificates).setting("TLS_CERT_PATH", directory.file("server.crt"))
                        .setting("TLS_KEY_PATH", directory.file("server.key"))
                        .setting("MTLS_CLIENT_CA_PATH", directory.file("ca.pem"))
                        .setting("MTLS_CLIENT_CRL_PATH", directory.file("list.crl"))
                        .setting("BLOCK_LIST_PATH", directory.file("blocked"))
                        .setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
            }
        }

        func show(_ identity: DevCertificates.Identity) throws {
            try put(identity.certificate, at: "server.crt")
            try put(identity.key, at: "server.key")
        }

        func put(_ path: String, at name: String) throws {
            try Self.put(path, directory.file(name))
        }

        private static func put(_ source: String, _ path: String) throws {
            try Data(contentsOf: URL(fileURLWithPath: source)).write(to: URL(fileURLWithPath: path))
        }

        /// Rewrites the gateway's environment file.
        func set(_ changes: [String: String]) throws {
            let lines = gateway.settings.values.merging(changes) { $1 }.map { "\($0.key)=\($0.value)\n" }
            try gateway.directory.write(lines.joined(), to: "portcullis.env")
        }

        /// Returns when the gateway has logged the result.
        @discardableResult
        func reload(_ way: EdgeTests.ReloadTests.Way, succeeds: Bool = true) async throws -> ChildOutput? {
            let before = count(in: gateway.output, succeeds)
            var output: ChildOutput?
            switch way {
            case .signal: gateway.child.signal(SIGHUP)
            case .command:
                output = try await GatewayProcess.run(["reload", "--socket", directory.file("control.sock")])
                #expect(output?.ending == .exited(succeeds ? 0 : 1), "\(String(describing: output))")
            }
            try await gateway.child.output.wait(for: "the end of a reload", within: .seconds(20)) { output in
                count(in: output, succeeds) > before ? true : nil
            }
            return output
        }

        private func count(in output: ChildOutput, _ succeeds: Bool) -> Int {
            let words = succeeds ? " reloaded" : "the old settings stay"
            return output.errorLines.filter { $0.contains(words) }.count
        }

        /// SHA-256 in hexadecimal.
        func fingerprint(of identity: DevCertificates.Identity) async throws -> String {
            let output = try await ChildProcess.check(
                "openssl", ["x509", "-in", identity.certificate, "-noout", "-fingerprint", "-sha256"])
            let text = output.outputText.split(separator: "=").last ?? ""
            return text.filter(\.isHexDigit).lowercased()
        }

        func open(_ handshake: Handshake) async throws -> TestWebSocket {
            try await gateway.open(handshake.offering("binary"))
        }
    }
}
