import EdgeTestKit
import Testing

extension EdgeTests {
    /// TLS clients that don't read while they are flooded, and then fail. If libwebsockets closed a connection with
    /// buffered output and pending TLS input, its reactor would block forever.
    @Suite struct FullSocketTests {
        private typealias Opcode = WebSocketFrame.Opcode
        private static let piece = [UInt8](repeating: 0x61, count: 16_384)
        /// Several TLS records, so that some wait inside TLS while the first is read.
        private static let input = [[UInt8]](repeating: WebSocketFrame.binary(piece).encoded(), count: 8).flatMap { $0 }

        static let faults = [
            WebSocketFrame(3, [65]), WebSocketFrame(0xB, []), WebSocketFrame(Opcode.text, [65], reserved: 4),
            WebSocketFrame(Opcode.text, [0xFF]), WebSocketFrame(Opcode.close, [3, 0xE8]),
        ]

        @Test(arguments: faults, [true, false])
        func `a fault of a client that doesn't read blocks no other client`(fault: WebSocketFrame, targetResets: Bool)
            async throws
        {
            let flood = try await Flood.start()
            flood.socket.connection.post(Self.input + fault.encoded() + Self.input + Self.input)
            if targetResets { await flood.target.reset() }
            try await flood.expectServiceOfOthers()
            if !targetResets { try await flood.expectEnd() }
        }

        @Test func `a target that resets while its client doesn't read blocks no other client`() async throws {
            let flood = try await Flood.start { $0.setting("CLOSE_FLUSH_MS", 0) }
            flood.socket.connection.post(Self.input)
            await flood.target.reset()
            flood.socket.connection.post(Self.input)
            try await flood.expectServiceOfOthers()
        }

        /// The gateway never writes more than the socket accepts, so a slow reader loses nothing over TLS either.
        @Test func `a client that reads late gets everything`() async throws {
            let flood = try await Flood.start()
            try await flood.expectServiceOfOthers()
            try await flood.socket.connection.setReading(true)
            let bytes = try await flood.socket.receive(Flood.count, within: .seconds(60))
            #expect(bytes.allSatisfy { $0 == 0x62 })
        }

        /// TLS records full of small messages: the gateway stops reading in the middle of one. Every message arrives
        /// when the target continues reading.
        @Test(arguments: [100, 1_000, 4_000])
        func `small messages in large records to a stalled target block no other client`(bytes: Int) async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start(.deaf) { $0.tls(certificates).setting("REACTOR_THREADS", 1) }
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let count = 6_000_000 / bytes
            let frame = WebSocketFrame.binary([UInt8](repeating: 0x64, count: bytes)).encoded()
            socket.connection.post([[UInt8]](repeating: frame, count: count).flatMap { $0 })
            for _ in 0..<20 { try await expectHealthyOverTLS(edge) }
            try await target.setReading(true)
            for _ in 0..<count { _ = try await target.receive(bytes) }
            try await expectHealthyOverTLS(edge)
        }

        /// Not awaited, because over TLS a send to a blocked reactor never returns.
        private func expectHealthyOverTLS(_ edge: Edge) async throws {
            let probe = try await edge.gateway.connect()
            probe.post(Array("GET /health HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            try #require(try await probe.answer().status == 200)
        }

        /// RFC 6455 section 5.5.1: nothing follows a Close, although the target continues sending.
        @Test(arguments: faults)
        func `nothing follows the Close frame that a fault causes`(fault: WebSocketFrame) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("REACTOR_THREADS", 1) }
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            for _ in 0..<200 { target.post(Flood.piece) }
            _ = try await socket.nextFrame()
            socket.connection.post(fault.encoded())
            for _ in 0..<200 { target.post(Flood.piece) }
            _ = try await socket.closedByServer()
        }
    }
}

/// A session over TLS whose client doesn't read, and whose target has sent far more than every buffer on the way holds.
private struct Flood {
    static let piece = [UInt8](repeating: 0x62, count: 65_536)
    private static let pieces = 200
    static let count = pieces * piece.count

    let edge: Edge
    let socket: TestWebSocket
    let target: TargetConnection

    static func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Flood {
        let certificates = try await DevCertificates.shared()
        let edge = try await Edge.start(.scripted) {
            change($0.tls(certificates).setting("REACTOR_THREADS", 1))
        }
        let socket = try await edge.gateway.open(receiveBuffer: 65_536)
        let target = try await edge.target.connection()
        try await socket.connection.setReading(false)
        for _ in 0..<pieces { target.post(piece) }
        // The single reactor has run when it has answered others.
        for _ in 0..<20 { try await edge.expectHealthy() }
        return Flood(edge: edge, socket: socket, target: target)
    }

    /// A whole session of another client on the same reactor.
    func expectServiceOfOthers() async throws {
        // Not awaited, because over TLS a send to a blocked reactor never returns.
        let probe = try await edge.gateway.connect()
        probe.post(Array("GET /health HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        try #require(try await probe.answer().status == 200)
        let neighbour = try await edge.gateway.open()
        let target = try await edge.target.connection(1)
        try await neighbour.send(text: "look")
        #expect(try await target.receiveText(4) == "look")
        try await target.send("a hall")
        #expect(try await neighbour.receiveText(6) == "a hall")
    }

    func expectEnd() async throws {
        _ = try await target.receiveToEnd()
        try await expectServiceOfOthersStill()
    }

    private func expectServiceOfOthersStill() async throws {
        for _ in 0..<20 { try await edge.expectHealthy() }
    }
}
