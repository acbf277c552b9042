import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis sessions` at the control socket of a running gateway.
    @Suite struct SessionsCommandTests {
        private let directory: TemporaryDirectory
        private var path: String { directory.file("control.sock") }

        init() throws {
            directory = try TemporaryDirectory()
        }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start { change($0.setting("CONTROL_SOCKET_PATH", path)) }
        }

        private func run(_ arguments: String...) async throws -> ChildOutput {
            try await GatewayProcess.run(arguments + ["--socket", path])
        }

        private func list(_ arguments: String...) async throws -> [[String: Any]] {
            let output = try await GatewayProcess.run(["sessions", "list", "--json", "--socket", path] + arguments)
            expectDone(output)
            return try output.outputLines.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }

        @Test func `sessions are listed, shown and closed by id`() async throws {
            let edge = try await start()
            let first = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(first, "attack orc")
            let second = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(second)
            let sessions = try await list()
            #expect(sessions.count == 2, "\(sessions)")
            let oldest = try #require(sessions.first)
            let id = try #require(oldest["id"] as? String)
            #expect(oldest["dialect"] as? String == "raw" && oldest["route"] as? String == "default")
            #expect(oldest["address"] as? String == "127.0.0.1" && oldest["isAttached"] as? Bool == true)
            #expect(oldest["bytesFromClient"] as? Int == 10 && oldest["bytesToClient"] as? Int == 10)

            let table = try await run("sessions", "list")
            expectDone(table)
            #expect(table.outputLines.count == 3 && table.outputText.contains(id), "\(table)")
            let shown = try await run("sessions", "show", id)
            expectDone(shown)
            for text in [
                "session: \(id)", "state: attached", "compression: none", "target: 127.0.0.1:\(edge.target.port)",
                // A client's frame has six bytes more than its message, the gateway's two. No ping has been sent.
                "from client: 10 bytes in 16 bytes of frames", "to client: 10 bytes in 12 bytes of frames",
            ] {
                #expect(shown.outputText.contains(text), "\(shown)")
            }
            #expect(!shown.outputText.contains("orc"), "nothing that a player typed is shown")

            let closed = try await run("sessions", "close", id, "--reason", "a <b>test</b>\u{1B}")
            #expect(closed.outputText == "closed 1 session\n", "\(closed)")
            let frame = try await first.closedByServer()
            #expect(frame.code == 1008 && frame.reason == "closed_by_operator")
            let line = try await edge.gateway.auditLine("operation", id)
            #expect(line.contains("over the control socket by user \(getuid())") && line.contains("a <b>test</b>"))
            _ = try await edge.gateway.auditLine("\"session\"", "closed_by_operator")
            try await Edge.expectEcho(second, "still here")
            #expect(try await run("sessions", "close", id).ending == .exited(1))
            #expect(try await run("sessions", "show", id).errorText.contains("no such session"))
        }

        @Test func `filters choose sessions, and all of one client can be closed`() async throws {
            let edge = try await start { $0.setting("MUD_ROUTES", "live=127.0.0.1:\($0["TN_PORT"] ?? "")") }
            let routed = try await edge.gateway.open(Handshake().path("/mud/live"))
            try await Edge.expectEcho(routed)
            let standard = try await edge.gateway.open(Handshake())
            try await Edge.expectEcho(standard)
            #expect(try await list("--route", "live").map { $0["route"] as? String } == ["live"])
            #expect(try await list("--route", "<script>").isEmpty)
            #expect(try await list("--subject", "nobody").isEmpty)
            #expect(try await list("--address", "192.0.2.0/24").isEmpty)
            #expect(try await list("--address", "127.0.0.0/8").count == 2)
            let malformed = try await run("sessions", "list", "--address", "<script>")
            #expect(malformed.ending == .exited(1) && malformed.errorText.contains("malformed"), "\(malformed)")
            #expect(try await run("sessions", "close").ending != .exited(0), "nobody is meant")
            #expect(try await run("sessions", "close", "--address", "127.0.0.1").outputText == "closed 2 sessions\n")
            for socket in [routed, standard] {
                #expect(try await socket.closedByServer().reason == "closed_by_operator")
            }
        }

        @Test func `a long list comes in pages, each session once`() async throws {
            let edge = try await start { $0.setting("MAX_CONNECTIONS_PER_ADDRESS", 1_000) }
            let count = 450
            var sockets: [TestWebSocket] = []
            for _ in 0..<count { sockets.append(try await edge.gateway.open(Handshake())) }
            for order in ["age", "bytes", "idle"] {
                let ids = try await list("--order", order).compactMap { $0["id"] as? String }
                #expect(ids.count == count && Set(ids).count == count)
            }
            #expect(try await list("--limit", "401").count == 401)
            let some = try await run("sessions", "list", "--limit", "3")
            #expect(some.outputLines.count == 4 && some.errorText.contains("3 of \(count) sessions"), "\(some)")
            try await Edge.expectEcho(sockets[count - 1])
        }
    }
}

/// Checks that a command ended well.
func expectDone(_ output: ChildOutput, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(output.ending == .exited(0), "\(output)", sourceLocation: sourceLocation)
}
