import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// The next tickets of sessions when the gateway's process has ended without a word.
    @Suite struct TicketRestartTests {
        private let apple: SimulatedApple
        /// With the control socket, for as long as the test runs.
        private let directory: TemporaryDirectory

        init() throws { (apple, directory) = (try SimulatedApple(), try TemporaryDirectory()) }

        /// A gateway for devices and operators' tickets, whose clients speak typed.
        private func edge(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start {
                change(
                    $0.appAttest(apple).setting("DEFAULT_DIALECT", "typed")
                        .setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
            }
        }

        /// After a kill, with the same files and on another port.
        private func restarted(
            _ gateway: GatewayProcess, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> GatewayProcess {
            try await gateway.killNow()
            return try await GatewayProcess.start(change(gateway.settings), in: gateway.directory)
        }

        /// Begins a session with a ticket.
        @discardableResult
        private func play(_ ticket: String, at gateway: GatewayProcess) async throws -> TestWebSocket {
            let socket = try await gateway.open(Handshake().path("/?ticket=" + ticket))
            try await socket.connectTyped()
            return socket
        }

        private func nextTicket(_ socket: TestWebSocket) async throws -> String {
            let message = try await socket.nextTyped("ticket")
            #expect(message.fields["expiresIn"] as? Int == 2 * 45 * 60)
            return try #require(message["ticket"])
        }

        private func refusal(of ticket: String, at gateway: GatewayProcess) async throws -> ReceivedAnswer {
            try await gateway.refusal(Handshake().path("/?ticket=" + ticket))
        }

        private func operatorsTicket(_ gateway: GatewayProcess) async throws -> String {
            let path = try #require(gateway.settings["CONTROL_SOCKET_PATH"])
            return try #require(
                try await GatewayProcess.run(["ticket", "--socket", path]).outputLines.first)
        }

        @Test func `a client that has lost its session with the process begins another one, once`() async throws {
            let edge = try await edge()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            var ticket = try #require(try await edge.gateway.ticket(for: device))
            var gateway = edge.gateway
            for _ in 0..<3 {
                let socket = try await play(ticket, at: gateway)
                expectRefusal(try await refusal(of: ticket, at: gateway), 401, "invalid_ticket")
                let next = try await nextTicket(socket)
                gateway = try await restarted(gateway)
                expectRefusal(try await refusal(of: ticket, at: gateway), 401, "invalid_ticket")
                ticket = next
            }
            try await play(ticket, at: gateway)
            try await gateway.auditLine("\"event\":\"upgrade\"", "admitted", "\"ticket\"", device.keyID)
        }

        @Test func `all tickets of a session are used with one, also across a kill right behind it`() async throws {
            let edge = try await edge()
            let given = try await operatorsTicket(edge.gateway)
            let socket = try await edge.gateway.open(Handshake().path("/?ticket=" + given))
            let session = try await TypedSession.connect(socket)
            let first = try await nextTicket(socket)
            await socket.connection.reset()
            let back = try await edge.gateway.open(session.handshake(after: 0))
            _ = try await back.nextTyped("resumed")
            let second = try await nextTicket(back)
            #expect(first != second)
            let gateway = try await restarted(edge.gateway)
            try await play(first, at: gateway)
            let again = try await restarted(gateway)
            for ticket in [first, second] {
                expectRefusal(try await refusal(of: ticket, at: again), 401, "invalid_ticket")
            }
        }

        @Test func `a revocation and the block list apply to what a process before has issued`() async throws {
            let edge = try await edge()
            let devices = [
                try await apple.enrolledDevice(at: edge.gateway), try await apple.enrolledDevice(at: edge.gateway),
            ]
            var tickets: [String] = []
            for device in devices {
                let ticket = try #require(try await edge.gateway.ticket(for: device))
                tickets.append(try await nextTicket(play(ticket, at: edge.gateway)))
            }
            #expect(try await edge.gateway.keys("revoke", devices[0].keyID).ending == .exited(0))
            let list = try edge.gateway.directory.write("key \(devices[1].keyID)\n", to: "blocked")
            let gateway = try await restarted(edge.gateway) { $0.setting("BLOCK_LIST_PATH", list) }
            expectRefusal(try await refusal(of: tickets[0], at: gateway), 403, "key_revoked")
            expectRefusal(try await refusal(of: tickets[1], at: gateway), 403, "device_blocked")
        }

        @Test func `the store has neither a ticket nor a trace of an erased client`() async throws {
            let edge = try await edge()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let given = try #require(try await edge.gateway.ticket(for: device))
            let next = try await nextTicket(play(given, at: edge.gateway))
            let path = edge.gateway.storePath
            let stored = { ["", "-wal"].compactMap { FileManager.default.contents(atPath: path + $0) } }
            for ticket in [given, next] {
                #expect(!stored().contains { $0.range(of: Data(ticket.utf8)) != nil })
            }
            #expect(stored().contains { $0.range(of: Data(device.keyID.utf8)) != nil })
            let erased = try await edge.gateway.keys("erase", "--yes", device.keyID)
            #expect(erased.ending == .exited(0), "\(erased)")
            #expect(!stored().contains { $0.range(of: Data(device.keyID.utf8)) != nil })
            expectRefusal(try await refusal(of: next, at: edge.gateway), 401, "invalid_ticket")
        }

        @Test func `an orderly shutdown leaves them, too, also where only operators admit`() async throws {
            let directory = try TemporaryDirectory()
            let edge = try await Edge.start {
                $0.setting("REQUIRE_APP_AUTH", "true").setting("DEFAULT_DIALECT", "typed")
                    .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            }
            let ticket = try await nextTicket(play(operatorsTicket(edge.gateway), at: edge.gateway))
            try await edge.gateway.stop()
            let gateway = try await GatewayProcess.start(edge.gateway.settings, in: edge.gateway.directory)
            try await play(ticket, at: gateway)
        }

        @Test func `in a fleet any gateway admits with them, once, when theirs has died`() async throws {
            let fleet = try await FleetBench()
            let gateways = [
                try await fleet.gateway { $0.setting("DEFAULT_DIALECT", "typed") },
                try await fleet.gateway { $0.setting("DEFAULT_DIALECT", "typed") },
            ]
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let given = try #require(try await gateways[0].ticket(for: device))
            let tickets = [try await nextTicket(play(given, at: gateways[0]))]
            try await gateways[0].killNow()
            let restarted = try await GatewayProcess.start(gateways[0].settings, in: gateways[0].directory)
            let next = try await nextTicket(play(tickets[0], at: restarted))
            for gateway in [gateways[1], restarted] {
                expectRefusal(try await refusal(of: tickets[0], at: gateway), 401, "invalid_ticket")
            }
            try await restarted.killNow()
            let last = try await nextTicket(play(next, at: gateways[1]))
            let erased = try await GatewayProcess.run(["keys", "erase", "--yes", device.keyID], fleet.storeSettings)
            #expect(erased.ending == .exited(0), "\(erased)")
            expectRefusal(try await refusal(of: last, at: gateways[1]), 401, "invalid_ticket")
            let rows = try fleet.server.session(database: fleet.database).run(
                "SELECT count(*) FROM portcullis.ticket WHERE session IS NOT NULL", []
            ).only().integer(0)
            #expect(rows == 0)
        }

        @Test func `without sessions that are kept they end with the process`() async throws {
            let edge = try await edge { $0.setting("RESUME_GRACE_MINUTES", "0") }
            let socket = try await play(try await operatorsTicket(edge.gateway), at: edge.gateway)
            let message = try await socket.nextTyped("ticket")
            #expect(message.fields["expiresIn"] as? Int == 30)
            let gateway = try await restarted(edge.gateway)
            expectRefusal(try await refusal(of: try #require(message["ticket"]), at: gateway), 401, "invalid_ticket")
        }

        @Test func `a client that leaves for good ends its tickets, but for a page that is loaded again`() async throws
        {
            let edge = try await edge {
                $0.setting("TICKET_TTL_SECONDS", "1").setting("FAILED_UPGRADES_PER_MINUTE", 1_000_000)
                    .setting("MUD_ROUTES", "apps=127.0.0.1:\($0["TN_PORT"] ?? ""),admit=app")
            }
            let socket = try await play(try await operatorsTicket(edge.gateway), at: edge.gateway)
            let ticket = try await nextTicket(socket)
            try await socket.send(text: #"{"type":"disconnect"}"#)
            _ = try await socket.closedByServer()
            // The route refuses it as long as it is known, and doesn't use it up.
            let probe = Handshake().path("/mud/apps?ticket=" + ticket)
            var codes: Set<String> = []
            while !codes.contains("invalid_ticket") {
                codes.insert(try #require(try await edge.gateway.refusal(probe)["x-refusal-code"]))
                try #require(codes.isSubset(of: ["way_not_allowed", "invalid_ticket"]))
            }
            #expect(codes.contains("way_not_allowed"))
        }
    }
}

extension GatewayProcess {
    /// A ticket for the device.
    func ticket(for device: TestDevice) async throws -> String? {
        let headers = try device.assertionHeaders(nonce: try await challenge())
        let lines = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
        let answer = try await request(
            "POST /ticket HTTP/1.1\r\nHost: localhost\r\n\(lines)Content-Length: 0\r\n\r\n")
        guard answer.status == 200 else { throw EdgeTestError("no ticket: \(answer)") }
        return answer.field("ticket")
    }
}
