import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis explain` and `portcullis audit` on the audit log of a running gateway.
    @Suite struct ExplainCommandTests {
        private let folder: TemporaryDirectory
        private let apple: SimulatedApple
        private var path: String { folder.file("audit.log") }

        init() throws {
            folder = try TemporaryDirectory()
            apple = try SimulatedApple()
        }

        private func start() async throws -> Edge {
            try await Edge.start { $0.appAttest(apple).setting("AUDIT_LOG_PATH", path) }
        }

        private func run(_ edge: Edge, _ arguments: String...) async throws -> ChildOutput {
            try await GatewayProcess.run(arguments, edge.gateway.settings)
        }

        /// Moves the log away as logrotate does, packs it, and has the gateway go on in a new file.
        private func rotate(_ edge: Edge) async throws {
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine("audit log reopened")
            try await ChildProcess.check("gzip", [path + ".1"])
        }

        @Test func `each refusal is explained by the check that failed, also after a rotation`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            var secrets: [String] = []
            func refusal(_ headers: [String: String], _ code: String) async throws -> String {
                secrets += [headers["X-App-Assert-Data"], headers["X-App-Assert-Nonce"]].compactMap(\.self)
                let answer = try await edge.gateway.refusal(Handshake().adding(headers))
                expectRefusal(answer, 401, code)
                return try #require(answer.requestID)
            }
            let first = try device.assertionHeaders(nonce: try await edge.gateway.challenge(), counter: 7)
            try await Edge.expectEcho(edge.gateway.open(Handshake().adding(first)))
            let counter = try await refusal(
                try device.assertionHeaders(nonce: edge.gateway.challenge(), counter: 6), "assertion_rejected")
            let replayed = try await refusal(first, "invalid_nonce")
            try await rotate(edge)
            let stranger = try apple.device()
            let unknown = try await refusal(
                try stranger.assertionHeaders(nonce: edge.gateway.challenge()), "unknown_key")
            let nothing = try await refusal([:], "app_auth_required")

            for (id, words) in [
                (
                    counter,
                    ["FAILED      the counter", "a counter above 7", "received  6", "not reached no other request"]
                ),
                (
                    replayed,
                    ["FAILED      the challenge", "one that was used before", "not reached the key is registered"]
                ),
                (unknown, ["passed      the challenge", "FAILED      the key is registered", stranger.keyID]),
                (nothing, ["FAILED      there is a credential", "App authentication required", "127.0.0.1"]),
            ] {
                let output = try await run(edge, "explain", id)
                #expect(output.ending == .exited(0), "\(output)")
                for word in words { #expect(output.outputText.contains(word), "\(word) in \(output)") }
                for secret in secrets { #expect(!output.outputText.contains(secret)) }
                let json = try await run(edge, "explain", id, "--json")
                let object = try JSONSerialization.jsonObject(with: Data(json.outputText.utf8)) as? [String: Any]
                #expect(object?["found"] as? Bool == true && object?["requestId"] as? String == id, "\(json)")
            }
        }

        @Test func `a session that a broken stream has ended is explained with the option that avoids it`() async throws
        {
            let edge = try await Edge.start(.scripted) { $0.setting("AUDIT_LOG_PATH", path) }
            let socket = try await edge.gateway.open(Handshake().offering("terminal.mudstandards.org"))
            let target = try await edge.target.connection()
            try await target.send([255, 251, 86])
            _ = try await target.receive(upTo: [255, 253, 86])
            try await target.send([255, 250, 86, 255, 240] + Array("this is no zlib stream".utf8))
            _ = try await socket.closedByServer()
            let line = try await edge.gateway.errorLine("session ended", "target_broken_stream")
            let id = String(try #require(line.firstMatch(of: /session=(\w+)/), "\(line)").1)
            let output = try await run(edge, "explain", id)
            #expect(output.ending == .exited(0) && output.outputText.contains("target_broken_stream"), "\(output)")
            #expect(
                output.outputText.contains("mccp=off") && output.outputText.contains("TARGET_MCCP=off"), "\(output)")
            #expect(try await run(edge, "explain", id, "--json").outputText.contains("mccp=off"))
        }

        @Test func `a request that no line names ends with 1, and with what to do`() async throws {
            let edge = try await start()
            _ = try await edge.gateway.refusal(Handshake())
            let missing = try await run(edge, "explain", "0000000000000000")
            #expect(missing.ending == .exited(1) && missing.outputText.isEmpty, "\(missing)")
            #expect(missing.errorText.contains("What to do") && missing.errorText.contains(path), "\(missing)")
            let json = try await run(edge, "explain", "0000000000000000", "--json")
            #expect(json.ending == .exited(1) && json.outputText.contains(#""found":false"#), "\(json)")
            // Without a file the audit log is standard output, which nobody has kept.
            let unset = try await GatewayProcess.run(
                ["explain", "0000000000000000"], edge.gateway.settings.removing("AUDIT_LOG_PATH"))
            #expect(unset.ending == .exited(1) && unset.errorText.contains("journalctl"), "\(unset)")
        }

        @Test func `the log is filtered and counted across a rotation`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            for _ in 0..<2 { _ = try await edge.gateway.refusal(Handshake()) }
            try await rotate(edge)
            _ = try await edge.gateway.refusal(try apple.device().handshake(at: edge.gateway))
            let refused = try await run(edge, "audit", "--outcome", "refused", "--event", "upgrade", "--json")
            #expect(refused.ending == .exited(0) && refused.outputLines.count == 3, "\(refused)")
            #expect(refused.outputLines.allSatisfy { $0.hasPrefix("{") && $0.contains("\"refused\"") })
            let here = try await run(
                edge, "audit", "--reason", "unknown_key", "--address", "127.0.0.0/8", "--since", "1h")
            #expect(here.outputLines.count == 1 && here.outputText.contains("unknown_key"), "\(here)")
            #expect(try await run(edge, "audit", "--address", "203.0.113.0/24").outputLines.isEmpty)
            #expect(try await run(edge, "audit", "--until", "1h").outputLines.isEmpty)
            #expect(try await run(edge, "audit", "--who", device.keyID, "--event", "upgrade").outputLines.count == 1)
            let counts = try await run(edge, "audit", "--count-by", "outcome,reason", "--event", "upgrade")
            #expect(
                counts.outputLines == [
                    "count  outcome   reason", "2      refused   app_auth_required", "1      admitted  -",
                    "1      refused   unknown_key",
                ], "\(counts)")
            for wrong in [["--count-by", "nothing"], ["--since", "yesterday"], ["--address", "10.0.0.5/8"]] {
                let output = try await GatewayProcess.run(["audit"] + wrong, edge.gateway.settings)
                #expect(output.ending == .exited(64), "\(output)")
            }
        }

        @Test func `the log is followed through a rotation`() async throws {
            let edge = try await start()
            _ = try await edge.gateway.refusal(Handshake())
            let settings = edge.gateway.settings.values.map { "\($0.key)=\($0.value)\n" }.joined()
            let file = try folder.write(settings, to: "follow.env")
            let child = try ChildProcess(
                Binaries.portcullis(), ["audit", "--follow", "--json", "--env-file", file, "--since", "1h"])
            defer { child.signal(SIGKILL) }
            func expectLine(_ id: String) async throws {
                _ = try await child.output.wait(for: "a line about \(id)", within: .seconds(20)) { output in
                    output.outputLines.first { $0.contains(id) }
                }
            }
            var ids: [String] = []
            for index in 0..<4 {
                if index == 2 { try await rotate(edge) }
                let id = try #require(try await edge.gateway.refusal(Handshake()).requestID)
                try await expectLine(id)
                ids.append(id)
            }
            let lines = child.output.current.outputLines
            #expect(lines.count == 5 && lines.suffix(4).enumerated().allSatisfy { $0.element.contains(ids[$0.offset]) })
        }
    }
}
