import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis dev-tokens`, and what its tokens do at a running gateway.
    @Suite struct DevTokensCommandTests {
        @Test func `development tokens are off unless switched on`() async throws {
            let edge = try await start { $0.removing("ALLOW_DEV_TOKENS") }
            let client = try TokenClient.simulator(at: edge.gateway)
            let issued = try await edge.gateway.issueDevelopmentToken()
            let answer = try await client.requestToken(for: issued.token)
            expectRefusal(answer, 401, "invalid_token")
            #expect(answer.field("error_description")?.hasPrefix("invalid_token") == true, "\(answer)")
        }

        @Test func `a token is listed with its uses and never shown again`() async throws {
            let edge = try await start()
            let issued = try await edge.gateway.issueDevelopmentToken(
                "--days", "2", "--devices", "3", "--route", "live")
            let answer = try await TokenClient.simulator(at: edge.gateway).requestToken(for: issued.token)
            #expect(answer.status == 200 && answer.field("mode") == "dev", "\(answer)")
            let list = try await edge.gateway.developmentTokens("list")
            #expect(list.ending == .exited(0) && list.outputLines.count == 1, "\(list)")
            for part in [issued.id, "valid", "edge tests", "devices 1/3", "routes live"] {
                #expect(list.outputText.contains(part), "\(list)")
            }
            #expect(!list.outputText.contains("never") && !list.outputText.contains(issued.token.dropFirst(6)))
            for file in ["", "-wal"] {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: edge.gateway.storePath + file))
                #expect(bytes.firstRange(of: Data(issued.token.utf8)) == nil)
            }
        }

        @Test func `more devices than the limit are refused`() async throws {
            let edge = try await start()
            let issued = try await edge.gateway.issueDevelopmentToken("--devices", "1")
            let first = try TokenClient.simulator(at: edge.gateway)
            for _ in 0..<2 { _ = try await first.token(for: issued.token) }
            let second = try await TokenClient.simulator(at: edge.gateway).requestToken(for: issued.token)
            expectRefusal(second, 401, "invalid_token")
            _ = try await edge.gateway.auditLine("token", "refused", "deviceLimit")
        }

        @Test func `every use is audited by its identifier alone`() async throws {
            let edge = try await start()
            let issued = try await edge.gateway.issueDevelopmentToken()
            _ = try await TokenClient.simulator(at: edge.gateway).token(for: issued.token)
            let line = try await edge.gateway.auditLine("admitted", "development_token", issued.id)
            #expect(!line.contains(issued.token))
        }

        @Test func `revoking a token closes its sessions and refuses its holders`() async throws {
            let directory = try TemporaryDirectory()
            let edge = try await start { $0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock")) }
            let issued = try await edge.gateway.issueDevelopmentToken()
            let client = try TokenClient.simulator(at: edge.gateway)
            let token = try await client.token(for: issued.token)
            let url = "http://localhost/"
            let handshake = try Handshake().adding([
                "Authorization": "Bearer \(token)", "DPoP": client.proof("GET", url),
            ])
            let socket = try await edge.gateway.open(handshake)
            try await Edge.expectEcho(socket)
            let revocation = try await GatewayProcess.run(
                ["dev-tokens", "revoke", issued.id],
                GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", edge.gateway.storePath)
                    .setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
            #expect(revocation.ending == .exited(0) && revocation.errorText.isEmpty, "\(revocation)")
            #expect(try await socket.closedByServer().code == 1008)
            let answer = try await client.requestToken(for: issued.token)
            expectRefusal(answer, 401, "invalid_token")
            #expect(try await edge.gateway.developmentTokens("list").outputText.contains("revoked"))
        }

        /// The upgrade's path isn't the only place where a client names a target.
        @Test func `a token for one route reaches no other target during its session`() async throws {
            let staging = try await TargetServer.start(.echo)
            let edge = try await start { $0.setting("MUD_ROUTES", "staging=127.0.0.1:\(staging.port)") }
            let issued = try await edge.gateway.issueDevelopmentToken("--route", "staging")
            let client = try TokenClient.simulator(at: edge.gateway)
            let token = try await client.token(for: issued.token)
            func handshake(_ path: String) throws -> Handshake {
                try Handshake().path(path).adding([
                    "Authorization": "Bearer \(token)", "DPoP": client.proof("GET", "http://localhost\(path)"),
                ])
            }
            expectRefusal(try await edge.gateway.refusal(handshake("/")), 403, "way_not_allowed")
            try await Edge.expectEcho(edge.gateway.open(handshake("/mud/staging")))
            for target in [#""host":"mud.example","port":4000"#, #""host":"127.0.0.1","port":\#(edge.target.port)"#] {
                let socket = try await edge.gateway.open(handshake("/mud/staging"))
                try await socket.send(text: #"{"type":"connect",\#(target)}"#)
                #expect(try await socket.nextTyped("error")["code"] == "invalid_request")
            }
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `wrong arguments are reported`() async throws {
            let edge = try await start()
            let path = edge.gateway.storePath
            func run(_ arguments: String...) async throws -> ChildOutput {
                try await GatewayProcess.run(["dev-tokens"] + arguments + ["--store", path])
            }
            for wrong in [
                ["--name", ""], ["--name", "a\u{7}"], ["--name", "n", "--days", "0"], ["--name", "n", "--days", "366"],
                ["--name", "n", "--devices", "0"], ["--name", "n", "--devices", "1001"],
                ["--name", "n", "--route", "Live"], ["--name", "n", "--route", "a", "--route", "a"],
                ["--name", String(repeating: "n", count: 65)],
            ] {
                let output = try await GatewayProcess.run(["dev-tokens", "issue"] + wrong + ["--store", path])
                #expect(output.ending == .exited(1) && output.outputText.isEmpty, "\(wrong): \(output)")
                #expect(!output.errorText.contains("key store"), "\(wrong): \(output)")
            }
            let issued = try await run("issue", "--name", "n", "--days", "365", "--devices", "1000")
            #expect(issued.ending == .exited(0) && issued.outputLines.first?.hasPrefix("pcdev_") == true, "\(issued)")
            #expect(try await run("revoke", "0123456789abcdef").errorText.contains("no such development token"))
            #expect(try await run("revoke", "nonsense").errorText.contains("16 hexadecimal digits"))
        }

        /// One that the command made would be one that no gateway reads.
        @Test func `before the gateway's first start there is no store, and none is made`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("keys.sqlite")
            for (words, code) in [(["list"], 0), (["issue", "--name", "n"], 1), (["revoke", "0123456789abcdef"], 1)] {
                let ran = try await GatewayProcess.run(["dev-tokens"] + words + ["--store", path])
                #expect(ran.ending == .exited(Int32(code)) && ran.outputText.isEmpty, "\(words): \(ran)")
                #expect(ran.errorText.contains("no database at \(path)"), "\(words): \(ran)")
                #expect(!FileManager.default.fileExists(atPath: path))
            }
        }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            let apple = try SimulatedApple()
            return try await Edge.start {
                change(
                    $0.appAttest(apple).setting("ALLOW_DEV_TOKENS", "true").setting("PUBLIC_ORIGIN", "http://localhost")
                )
            }
        }
    }
}
