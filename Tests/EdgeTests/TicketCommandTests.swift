import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis ticket` at the control socket of a running gateway.
    @Suite struct TicketCommandTests {
        private let directory: TemporaryDirectory
        private var path: String { directory.file("control.sock") }

        init() throws {
            directory = try TemporaryDirectory()
        }

        @Test func `an operator's ticket admits as often as its uses allow`() async throws {
            let edge = try await start()
            for uses in [1, 2] {
                let ticket = try await ticket("--uses", "\(uses)")
                let handshake = Handshake().path("/?ticket=" + ticket)
                for _ in 0..<uses { try await Edge.expectEcho(edge.gateway.open(handshake)) }
                expectRefusal(try await edge.gateway.refusal(handshake), 401, "invalid_ticket")
            }
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
        }

        /// Only the operator's tickets admit clients: no app, no authority.
        @Test func `tickets can be the only admission method`() async throws {
            let edge = try await Edge.start {
                $0.setting("REQUIRE_APP_AUTH", "true").setting("CONTROL_SOCKET_PATH", path)
            }
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
            try await Edge.expectEcho(edge.gateway.open(Handshake().path("/?ticket=" + ticket())))
        }

        @Test func `an operator's ticket is audited`() async throws {
            let edge = try await start()
            let ticket = try await ticket("--uses", "2", "--minutes", "3")
            let line = try await edge.gateway.auditLine("by the operator")
            let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
            #expect(fields?["event"] == "ticket" && fields?["outcome"] == "admitted" && fields?["way"] == "ticket")
            #expect(fields?["detail"] == "by the operator: 2 uses in 180 s" && fields?["address"] == "-")
            #expect(!line.contains(ticket))
            // Every client admitted by it has the same name.
            let who = try #require(fields?["who"])
            try await Edge.expectEcho(edge.gateway.open(Handshake().path("/?ticket=" + ticket)))
            _ = try await edge.gateway.auditLine("upgrade", who)
        }

        @Test func `too many tickets are refused with a hint`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("CONTROL_SOCKET_PATH", path)
            }
            for _ in 0..<64 { _ = try await ticket() }
            let output = try await GatewayProcess.run(["ticket", "--socket", path])
            #expect(output.ending == .exited(1) && output.errorText.contains("64 of the operator"), "\(output)")
            try await edge.expectHealthy()
        }

        @Test func `the page's address is the operator's setting`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("CONTROL_SOCKET_PATH", path).setting("ENABLE_WEB_CLIENT", "true")
                    .setting("PUBLIC_ORIGIN", "https://play.example")
            }
            let lines = try await GatewayProcess.run(["ticket", "--socket", path]).outputLines
            #expect(lines.count == 2 && lines[1] == "https://play.example/#ticket=\(lines[0])", "\(lines)")
            try await edge.expectHealthy()
        }

        @Test func `only its owner can use the socket, and the gateway removes it`() async throws {
            let edge = try await start()
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
            #expect(attributes[.type] as? FileAttributeType == .typeSocket)
            #expect(try await edge.gateway.stop().ending == .exited(0))
            #expect(!FileManager.default.fileExists(atPath: path))
            let output = try await GatewayProcess.run(["ticket", "--socket", path])
            #expect(output.ending == .exited(1) && output.errorText.contains("no gateway answers"), "\(output)")
        }

        @Test func `a second gateway doesn't take over the first one's socket`() async throws {
            let edge = try await start()
            let error = await #expect(throws: EdgeTestError.self) { _ = try await start() }
            #expect(error.map { "\($0)" }?.contains(path) == true, "\(String(describing: error))")
            let ticket = try await ticket()
            try await Edge.expectEcho(edge.gateway.open(Handshake().path("/?ticket=" + ticket)))
        }

        /// A gateway that was killed leaves its socket behind, which doesn't prevent the next one from starting.
        @Test func `the socket of a killed gateway is replaced`() async throws {
            let killed = try await start()
            try await killed.gateway.killNow()
            #expect(FileManager.default.fileExists(atPath: path))
            let edge = try await start()
            let ticket = try await ticket()
            try await Edge.expectEcho(edge.gateway.open(Handshake().path("/?ticket=" + ticket)))
        }

        private func ticket(_ options: String...) async throws -> String {
            let output = try await GatewayProcess.run(["ticket", "--socket", path] + options)
            guard output.ending == .exited(0), let ticket = output.outputLines.first else {
                throw EdgeTestError("no ticket: \(output)")
            }
            return ticket
        }

        private func start() async throws -> Edge {
            let apple = try SimulatedApple()
            return try await Edge.start { $0.appAttest(apple).setting("CONTROL_SOCKET_PATH", path) }
        }
    }
}
