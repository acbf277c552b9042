import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Several reduced limits at once, compared with the maximum costs in docs/LIMITS.md.
    @Suite struct MemoryTests {
        private typealias T = TelnetBytes

        private static let sessions = 40
        private static let halfOpen = 120
        private static let slowHeaders = 120
        private static let addresses = 400

        @Test func `at several limits at once memory stays within the documented figure`() async throws {
            let edge = try await start()
            let process = edge.gateway.processID
            // Everything that is created only once exists now.
            try await spend(1, at: edge.gateway)
            let idle = try ProcessMemory.residentKiB(of: process)
            let crowd = try await crowd(at: edge)
            for index in 0..<Self.sessions { try await fill(crowd[index].socket, crowd[index].target, index: index) }
            let waiting = try await waitingConnections(at: edge.gateway)
            for number in 1...Self.addresses { try await spend(number, at: edge.gateway) }
            // Both of its queues are full, since nothing is read: at least this much.
            try await grown(edge, by: Self.sessions * 128, over: idle)
            for _ in 0..<20 { try await edge.expectHealthy() }
            let peak = try ProcessMemory.peakKiB(of: process)
            let figure = try Figures()
            let stated =
                Self.sessions * figure.session + waiting.count * figure.connection
                + (Self.addresses * (figure.challenge + figure.address)) / 1024
            print("\(peak - idle) KiB over \(idle); stated \(stated) KiB")
            #expect(peak - idle <= stated, "\(peak - idle) KiB, and \(stated) are stated")
            #expect(idle <= figure.process, "\(idle) KiB")
            withExtendedLifetime((crowd, waiting)) {}
        }

        private func start() async throws -> Edge {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            return try await Edge.start(.scripted) {
                $0.tls(certificates).appAttest(apple).setting("REQUIRE_APP_AUTH", "false")
                    .setting("TRUSTED_PROXY_CIDRS", "127.0.0.1").setting("MAX_SPENT_PROOFS", Self.addresses)
                    .setting("MAX_LIMITER_ENTRIES", Self.addresses).setting("MAX_CONNECTIONS_PER_ADDRESS", 10_000)
                    .setting("REQUEST_TIMEOUT_MS", 120_000)
                    .setting("PING_INTERVAL_SECONDS", 3_600).setting("LOG_LEVEL", "warning")
            }
        }

        private func crowd(at edge: Edge) async throws -> [(socket: TestWebSocket, target: TargetConnection)] {
            var crowd: [(socket: TestWebSocket, target: TargetConnection)] = []
            for index in 0..<Self.sessions {
                let socket = try await edge.gateway.open(receiveBuffer: 16_384)
                _ = try await TypedSession.connect(socket)
                crowd.append((socket, try await edge.target.connection(index)))
            }
            return crowd
        }

        /// A target that sends much to a client that doesn't read, packages first; and a client that sends much, or
        /// half of one large message, to a target that doesn't read.
        private func fill(_ socket: TestWebSocket, _ target: TargetConnection, index: Int) async throws {
            try await target.send([T.iac, T.will, T.gmcp])
            _ = try await target.receive(upTo: [T.iac, T.do, T.gmcp])
            try await socket.connection.setReading(false)
            try await target.setReading(false)
            let value = String(repeating: "v", count: 220)
            for number in 0..<64 { target.post(T.gmcp("Package.Number\(number) \"\(value)\"")) }
            for _ in 0..<48 { target.post([UInt8](repeating: 0x61, count: 65_536)) }
            let text = String(repeating: "b", count: 60_000)
            if index.isMultiple(of: 2) {
                let input = WebSocketFrame.text(#"{"type":"input","text":"\#(text)"}"#).encoded()
                for _ in 0..<48 { socket.connection.post(input) }
            } else {
                socket.connection.post(
                    WebSocketFrame(
                        WebSocketFrame.Opcode.text, Array(#"{"type":"input","text":"\#(text)"#.utf8), isFinal: false
                    ).encoded())
            }
        }

        private func waitingConnections(at gateway: GatewayProcess) async throws -> [RawConnection] {
            var connections: [RawConnection] = []
            for _ in 0..<Self.halfOpen {
                let connection = try await RawConnection.open(port: gateway.port)
                try await connection.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03])
                connections.append(connection)
            }
            for _ in 0..<Self.slowHeaders {
                let connection = try await gateway.connect()
                try await connection.send("GET / HTTP/1.1\r\nX-Slow: " + String(repeating: "a", count: 8_000))
                connections.append(connection)
            }
            return connections
        }

        /// A challenge that is requested and spent from its own address: four of the limiters remember the address.
        private func spend(_ number: Int, at gateway: GatewayProcess) async throws {
            let address = "10.1.\(number / 256).\(number % 256)"
            let asked = try await gateway.request(
                "GET /attest/challenge HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: \(address)\r\n\r\n")
            let nonce = try #require(asked.strings?["nonce"])
            let handshake = Handshake().adding("X-Forwarded-For", address)
                .adding("X-App-Assert-KeyId", Data(repeating: 7, count: 32).base64EncodedString())
                .adding("X-App-Assert-Data", "AAAA").adding("X-App-Assert-Nonce", nonce)
            #expect([401, 503].contains(try await gateway.refusal(handshake).status))
        }

        /// Memory is used asynchronously: polls until this much is in use, between answers of the gateway.
        private func grown(_ edge: Edge, by expected: Int, over idle: Int) async throws {
            let deadline = ContinuousClock.now.advanced(by: .seconds(60))
            while try ProcessMemory.residentKiB(of: edge.gateway.processID) - idle < expected {
                try #require(ContinuousClock.now < deadline, "the limits were not reached")
                try await edge.expectHealthy()
            }
        }
    }
}

/// The column `Each` of docs/LIMITS.md.
private struct Figures {
    /// In KiB.
    let connection, session, process: Int
    /// In bytes.
    let challenge, address: Int

    init() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/LIMITS.md"), encoding: .utf8)
        func figure(_ beginning: String, _ unit: String) throws -> Int {
            let row = try #require(text.split(separator: "\n").first { $0.hasPrefix("| \(beginning)") })
            let cell = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }[3]
            try #require(cell.hasSuffix(" \(unit)"))
            return try #require(Int(cell.dropLast(unit.count + 1)))
        }
        connection = try figure("a connection in", "KiB")
        session = try figure("a session, at", "KiB")
        process = try figure("the process itself", "KiB")
        challenge = try figure("a used challenge", "B")
        address = try figure("an address in", "B")
    }
}
