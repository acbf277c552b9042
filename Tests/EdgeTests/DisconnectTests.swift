import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Clients that disconnect at every stage, by FIN and by RST: they leave no state, and only those that were sent a
    /// 101 count as admitted.
    @Suite struct DisconnectTests {
        enum Farewell: String, CaseIterable { case finish, close, reset }

        /// The stage at which the client disconnects.
        struct Stage: Sendable, CustomTestStringConvertible {
            let testDescription: String
            /// The bytes that it sends in one piece.
            let bytes: [UInt8]
            /// The answer's status that it waits for, and a frame after it if `awaitsFrame`.
            var status: Int?
            var awaitsFrame = false
            /// The bytes that it sends then.
            var last: [UInt8] = []

            init(
                _ name: String, _ text: String, _ more: [UInt8] = [], status: Int? = nil, awaitsFrame: Bool = false,
                then last: [UInt8] = []
            ) {
                testDescription = name
                bytes = Array(text.utf8) + more
                self.status = status
                self.awaitsFrame = awaitsFrame
                self.last = last
            }
        }

        private static let upgrade = Handshake().text
        private static let post = "POST /attest/register HTTP/1.1\r\nHost: a\r\n"
        private static let message = WebSocketFrame.text("look around").encoded()
        private static let long = WebSocketFrame.binary([UInt8](repeating: 7, count: 300)).encoded()

        static let stages = [
            Stage("accepted", ""), Stage("within the method", "GE"), Stage("within the target", "GET /heal"),
            Stage("within the version", "GET /health HT"),
            Stage("within a field", "GET /health HTTP/1.1\r\nHost: a\r\nX"),
            Stage("before the empty line", "GET /health HTTP/1.1\r\nHost: a\r\n"),
            Stage("behind a request", "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"),
            Stage("kept alive", "GET /health HTTP/1.1\r\nHost: a\r\n\r\n", status: 200),
            Stage("within a pipelined request", "GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET ", status: 200),
            Stage("before a body", post + "Content-Length: 100\r\n\r\n"),
            Stage("within a body", post + "Content-Length: 100\r\n\r\n{\"keyId\":"),
            Stage(
                "before a body that it was asked for", post + "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
                status: 100),
            Stage("within a chunk", post + "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"keyId\""),
            Stage("behind a body", post + "Content-Length: 2\r\n\r\n{}"),
            Stage("behind a malformed request", "GET /\u{7F} HTTP/1.1\r\n"),
            Stage("within an upgrade", String(upgrade.dropLast(2))),
            Stage("behind an upgrade", upgrade), Stage("behind a refused upgrade", Handshake().path("/nowhere").text),
            Stage("within 64 KiB that were sent ahead", upgrade + String(repeating: "x", count: 65_536)),
            Stage("behind the 101", upgrade, status: 101),
            Stage("within a frame's first two bytes", upgrade, status: 101, then: Array(message[..<1])),
            Stage("within a frame's length", upgrade, status: 101, then: Array(long[..<3])),
            Stage("within a frame's mask", upgrade, status: 101, then: Array(message[..<4])),
            Stage("within a payload", upgrade, status: 101, then: Array(message[..<9])),
            Stage("within a fragmented message", upgrade, status: 101, then: fragment),
            Stage("behind a message", upgrade, status: 101, then: message),
            Stage("within a Close", upgrade, status: 101, then: Array(WebSocketFrame.close(1000).encoded()[..<5])),
            Stage("behind its Close", upgrade, status: 101, then: WebSocketFrame.close(1000).encoded()),
            Stage("behind the gateway's Close", upgrade, unmasked, status: 101, awaitsFrame: true),
        ]

        private static let fragment = WebSocketFrame(WebSocketFrame.Opcode.text, Array("lo".utf8), isFinal: false)
            .encoded()
        /// Clients may not send this.
        private static let unmasked = WebSocketFrame.text("naked").encoded(mask: nil)

        private static let rounds = 4
        private static let places = 6

        @Test(arguments: Farewell.allCases)
        func `disconnected clients leave nothing behind`(farewell: Farewell) async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                Self.tight($0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false"))
            }
            // Everything that is created at the first registration and the first session exists now.
            _ = try await edge.gateway.post("/attest/register", "{}")
            _ = try await edge.gateway.open().close()
            try await edge.gateway.errorLine("session ended")
            let watch = try await edge.gateway.connect()
            let files = try await idleFiles(of: edge.gateway, by: watch)
            for _ in 0..<Self.rounds {
                for start in stride(from: 0, to: Self.stages.count, by: Self.places) {
                    let stages = Self.stages[start..<min(start + Self.places, Self.stages.count)]
                    for stage in stages {
                        try await onOwnThread { try leave(at: stage, by: farewell, port: edge.gateway.port) }
                    }
                    try await filesFall(to: files, of: edge.gateway, by: watch)
                }
            }
            try await expectEveryPlaceFree(at: edge)
            try await expectHonestAudit(of: edge.gateway)
        }

        /// Before there is HTTP.
        @Test(arguments: Farewell.allCases)
        func `an aborted TLS handshake leaves nothing behind`(farewell: Farewell) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { Self.tight($0.tls(certificates)) }
            _ = try await edge.gateway.open().close()
            try await edge.gateway.errorLine("session ended")
            let watch = try await edge.gateway.connect()
            let files = try await idleFiles(of: edge.gateway, by: watch)
            let hello = Self.clientHello
            for _ in 0..<1 {
                for count in [0, 1, 5, 6, 40, hello.count - 1, hello.count] {
                    try await onOwnThread {
                        let stage = Stage("within the ClientHello", "", Array(hello[..<count]))
                        try leave(at: stage, by: farewell, port: edge.gateway.port)
                    }
                }
                try await leaveTLS(by: farewell, at: edge.gateway)
                try await filesFall(to: files, of: edge.gateway, by: watch)
            }
            try await expectEveryPlaceFree(at: edge)
        }

        /// Its target never answers: the dial must be cancelled with the client.
        @Test(arguments: Farewell.allCases)
        func `an aborted dial leaves nothing behind`(farewell: Farewell) async throws {
            let silent = try SilentPort()
            let settings = Self.tight(GatewaySettings(targetPort: silent.port)).setting("MUD_DIAL_TIMEOUT_MS", 60_000)
            let gateway = try await GatewayProcess.start(settings)
            let stage = Stage("while its target is dialled", Handshake().text, status: 101, then: Self.message)
            try await onOwnThread { try leave(at: stage, by: .close, port: gateway.port) }
            try await gateway.errorLine("session ended")
            let watch = try await gateway.connect()
            let files = try await idleFiles(of: gateway, by: watch)
            for _ in 0..<2 {
                for _ in 0..<Self.places {
                    try await onOwnThread { try leave(at: stage, by: farewell, port: gateway.port) }
                }
                try await filesFall(to: files, of: gateway, by: watch)
            }
            try await expectHonestAudit(of: gateway)
        }

        /// Only as many connections as the stages of one round need, so a leak is noticed at once. The health checks
        /// need some, too. One reactor, because each opens some files at its first use.
        private static func tight(_ settings: GatewaySettings) -> GatewaySettings {
            settings.setting("REACTOR_THREADS", 1).setting("MAX_SESSIONS_GLOBAL", places)
                .setting("MAX_CONNECTIONS_PER_ADDRESS", 4 * places).setting("MAX_CONNECTIONS", 4 * places)
                .setting("RESUME_GRACE_MINUTES", 0).setting("CLOSE_FLUSH_MS", 100).setting(
                    "FAILED_UPGRADES_PER_MINUTE", 1_000_000
                ).setting(
                    "LOG_LEVEL", "info")
        }

        private func leaveTLS(by farewell: Farewell, at gateway: GatewayProcess) async throws {
            let connection = try await gateway.connect()
            try await connection.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            // Otherwise it is closed when it is released: waiting for that would take NIO's 5 s, since the gateway
            // doesn't answer a close_notify.
            if case .reset = farewell { await connection.reset() }
            let socket = try await gateway.open()
            if case .reset = farewell { await socket.connection.reset() }
        }

        /// The minimum over several samples of the open files, without the connection that asks.
        private func idleFiles(of gateway: GatewayProcess, by watch: RawConnection) async throws -> Int {
            var least = Int.max
            for _ in 0..<50 { least = min(least, try await openFiles(of: gateway, by: watch)) }
            return least
        }

        private func openFiles(of gateway: GatewayProcess, by watch: RawConnection) async throws -> Int {
            try await watch.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await watch.answer().status == 200)
            return try ProcessMemory.openFiles(of: gateway.processID)
        }

        private func filesFall(to files: Int, of gateway: GatewayProcess, by watch: RawConnection) async throws {
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while true {
                let open = try await openFiles(of: gateway, by: watch)
                if open <= files { return }
                try #require(ContinuousClock.now < deadline, "\(open) files are open, and \(files) should be")
            }
        }

        private func expectEveryPlaceFree(at edge: Edge) async throws {
            var sockets: [TestWebSocket] = []
            for _ in 0..<Self.places { sockets.append(try await edge.gateway.open()) }
            for socket in sockets { try await Edge.expectEcho(socket) }
            for socket in sockets { try await socket.close() }
        }

        /// Each client logged as admitted was sent a 101 and has a session whose end is logged. A withdrawn admission
        /// has a second line.
        private func expectHonestAudit(of gateway: GatewayProcess) async throws {
            let output = try await gateway.stop()
            let lines = output.outputLines.filter { $0.contains(#""event":"upgrade""#) }
            func identifiers(_ outcome: String) -> Set<String> {
                Set(
                    lines.filter { $0.contains("\"outcome\":\"\(outcome)\"") }.compactMap {
                        $0.firstMatch(of: /"requestId":"([0-9a-f]+)"/).map { String($0.1) }
                    })
            }
            let ended = output.errorLines.filter { $0.contains("session ended") }.compactMap {
                $0.firstMatch(of: /session=([0-9a-f]+)/).map { String($0.1) }
            }
            let admitted = identifiers("admitted")
            try #require(!admitted.isEmpty)
            #expect(admitted.subtracting(identifiers("failed")) == Set(ended))
        }

        /// The beginning of a ClientHello, followed by random bytes.
        private static let clientHello: [UInt8] =
            [0x16, 3, 1, 0, 0x80, 1, 0, 0, 0x7C, 3, 3] + (0..<122).map { UInt8(truncatingIfNeeded: $0 &* 73) }
    }
}

private func leave(
    at stage: EdgeTests.DisconnectTests.Stage, by farewell: EdgeTests.DisconnectTests.Farewell, port: Int
)
    throws
{
    let socket = try SegmentSocket(port: port)
    if !stage.bytes.isEmpty { socket.send(stage.bytes[...]) }
    if let status = stage.status {
        let answer = socket.receive { answer in
            guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
            return !stage.awaitsFrame || answer.endIndex > end.upperBound
        }
        let line = String(decoding: answer.prefix(12), as: UTF8.self)
        guard line == "HTTP/1.1 \(status)" else { throw EdgeTestError("\(stage.testDescription): \(line)") }
    }
    if !stage.last.isEmpty { socket.send(stage.last[...]) }
    switch farewell {
    case .finish:
        socket.finish()
        // The gateway ends its side, too.
        _ = socket.receive { _ in false }
    case .close: break
    case .reset: socket.resetAtClose()
    }
}
