import EdgeTestKit
import Testing

extension EdgeTests {
    /// An upgrade is answered in the same way however its bytes are split.
    ///
    /// One reactor, so that a request that is answered proves that what was sent before on other connections has been
    /// read.
    @Suite struct SplitUpgradeTests {
        private static let count = 1_000
        /// Connections at a time.
        private static let width = 250

        @Test func `a thousand upgrades in one-byte segments are answered like whole ones`() async throws {
            let edge = try await start()
            let upgrades = try await upgrades(at: edge.gateway)
            for batch in stride(from: 0, to: upgrades.count, by: Self.width) {
                let batch = Array(upgrades[batch..<min(batch + Self.width, upgrades.count)])
                try await onOwnThread { try sendBytes(of: batch, to: edge.gateway.port) }
            }
            try await edge.expectHealthy()
        }

        @Test func `a thousand upgrades in two segments are answered like whole ones`() async throws {
            let edge = try await start()
            let cuts = try await cuts(at: edge.gateway)
            for batch in stride(from: 0, to: cuts.count, by: Self.width) {
                let batch = Array(cuts[batch..<min(batch + Self.width, cuts.count)])
                try await onOwnThread { try sendHalves(of: batch, to: edge.gateway.port) }
            }
            try await edge.expectHealthy()
        }

        /// The records of one upgrade arrive together.
        @Test func `a thousand upgrades in one-byte records are answered like whole ones`() async throws {
            let edge = try await start(tls: DevCertificates.shared())
            let upgrades = try await upgrades(at: edge.gateway)
            for batch in stride(from: 0, to: upgrades.count, by: Self.width) {
                _ = try await inParallel(min(Self.width, upgrades.count - batch)) { index in
                    let upgrade = upgrades[batch + index]
                    let connection = try await edge.gateway.connect()
                    try await connection.sendTogether(upgrade.bytes.map { [$0] })
                    try await upgrade.check(connection, "in records of one byte")
                }
            }
            try await edge.expectHealthy()
        }

        @Test func `a thousand upgrades in two records are answered like whole ones`() async throws {
            let edge = try await start(tls: DevCertificates.shared())
            let cuts = try await cuts(at: edge.gateway)
            for batch in stride(from: 0, to: cuts.count, by: Self.width) {
                _ = try await inParallel(min(Self.width, cuts.count - batch)) { index in
                    let (upgrade, cut) = cuts[batch + index]
                    let connection = try await edge.gateway.connect()
                    let halves = [Array(upgrade.bytes[..<cut]), Array(upgrade.bytes[cut...])]
                    // Together, or the second when the first has been read.
                    if index.isMultiple(of: 8) {
                        try await connection.send(halves[0])
                        try await edge.expectHealthy()
                        try await connection.send(halves[1])
                    } else {
                        try await connection.sendTogether(halves)
                    }
                    try await upgrade.check(connection, "in records of \(cut) bytes and the rest")
                }
            }
        }

        private func start(tls certificates: DevCertificates? = nil) async throws -> Edge {
            let apple = try SimulatedApple()
            return try await Edge.start {
                let settings = $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false").setting("REACTOR_THREADS", 1)
                    .setting("MAX_CONNECTIONS_PER_ADDRESS", 10_000).setting("FAILED_UPGRADES_PER_MINUTE", 1_000_000)
                    .setting("CHALLENGES_PER_MINUTE", 1_000_000).setting("REQUEST_TIMEOUT_MS", 120_000)
                    .setting("ALLOWED_ORIGINS", "https://a.example")
                    .setting("LOG_LEVEL", "error")
                return certificates.map { settings.tls($0) } ?? settings
            }
        }

        /// Each kind in turn, with the answer that it has when it is sent in one piece.
        private func upgrades(at gateway: GatewayProcess) async throws -> [KnownUpgrade] {
            var kinds: [KnownUpgrade] = []
            for request in UpgradeSamples.all { kinds.append(try await KnownUpgrade(request, at: gateway)) }
            return (0..<Self.count).map { kinds[$0 % kinds.count] }
        }

        /// Each position of some kinds, as often as it takes.
        private func cuts(at gateway: GatewayProcess) async throws -> [(KnownUpgrade, Int)] {
            var cuts: [(KnownUpgrade, Int)] = []
            for request in UpgradeSamples.short {
                let upgrade = try await KnownUpgrade(request, at: gateway)
                cuts += (1..<upgrade.bytes.count).map { (upgrade, $0) }
            }
            try #require(cuts.count >= Self.count)
            return cuts
        }
    }
}

/// One byte of each, then the next byte of each after the reactor has read the previous ones.
private func sendBytes(of upgrades: [KnownUpgrade], to port: Int) throws {
    let barrier = try SegmentSocket(port: port)
    let sockets = try upgrades.map { _ in try SegmentSocket(port: port) }
    var areOpen = upgrades.map { _ in true }
    for position in 0..<(upgrades.map(\.bytes.count).max() ?? 0) {
        for (index, upgrade) in upgrades.enumerated() where areOpen[index] && position < upgrade.bytes.count {
            // One that is refused before its end is answered there.
            let isAnswered = !upgrade.isAdmitted && sockets[index].hasInput
            areOpen[index] = !isAnswered && sockets[index].send(upgrade.bytes[position...position])
        }
        try pass(barrier)
    }
    for (upgrade, socket) in zip(upgrades, sockets) { try upgrade.check(socket, "in segments of one byte") }
}

private func sendHalves(of cuts: [(upgrade: KnownUpgrade, cut: Int)], to port: Int) throws {
    let barrier = try SegmentSocket(port: port)
    let sockets = try cuts.map { _ in try SegmentSocket(port: port) }
    for (index, cut) in cuts.enumerated() { sockets[index].send(cut.upgrade.bytes[..<cut.cut]) }
    try pass(barrier)
    for (index, cut) in cuts.enumerated() { sockets[index].send(cut.upgrade.bytes[cut.cut...]) }
    for (index, cut) in cuts.enumerated() {
        try cut.upgrade.check(sockets[index], "in segments of \(cut.cut) bytes and the rest")
    }
}

private func pass(_ barrier: SegmentSocket) throws {
    barrier.send(Array("GET /health HTTP/1.1\r\nHost: a\r\n\r\n".utf8)[...])
    let end = UInt8(ascii: "}")
    guard barrier.receive(until: { $0.last == end }).last == end else { throw EdgeTestError("the barrier is closed") }
}

/// An upgrade, the message that an admitted client sends after it, and the response.
private struct KnownUpgrade: Sendable {
    let bytes: [UInt8]
    let isAdmitted: Bool
    private let expected: String
    /// One byte, since a split payload is echoed in several messages.
    private static let message = UInt8(ascii: "k")

    init(_ request: String, at gateway: GatewayProcess) async throws {
        let frame = WebSocketFrame.binary([Self.message]).encoded()
        let connection = try await gateway.connect()
        connection.post(Array(request.utf8) + frame)
        let first = try await connection.receive(12)
        isAdmitted = String(decoding: first, as: UTF8.self) == "HTTP/1.1 101"
        bytes = Array(request.utf8) + (isAdmitted ? frame : [])
        let whole = try await gateway.connect()
        try await whole.send(bytes)
        expected = Self.comparable(try await Self.answer(on: whole, isAdmitted: isAdmitted))
        guard expected.hasPrefix("HTTP/1.1 101") == isAdmitted, expected.hasPrefix("HTTP/1.1 ") else {
            throw EdgeTestError("unexpected: \(expected)")
        }
    }

    func check(_ connection: RawConnection, _ how: String) async throws {
        try expect(try await Self.answer(on: connection, isAdmitted: isAdmitted), how)
    }

    func check(_ socket: SegmentSocket, _ how: String) throws {
        try expect(socket.receive { isAdmitted && Self.isWhole($0) }, how)
    }

    private func expect(_ answer: [UInt8], _ how: String) throws {
        let answer = Self.comparable(answer)
        guard answer != expected else { return }
        let request = String(decoding: bytes, as: UTF8.self).debugDescription
        throw EdgeTestError("\(how): \(answer.debugDescription) to \(request) in place of \(expected.debugDescription)")
    }

    private static func answer(on connection: RawConnection, isAdmitted: Bool) async throws -> [UInt8] {
        guard isAdmitted else { return try await connection.receiveToEnd() }
        return try await connection.stream.wait(for: "a 101 and an echo") { stream in
            stream.isAtEnd || isWhole(Array(stream.unread)) ? stream.takeAll() : nil
        }
    }

    /// A 101 and the echo of the following message.
    private static func isWhole(_ answer: [UInt8]) -> Bool { answer.suffix(3) == [0x82, 1, message] }

    /// Without the parts that vary.
    private static func comparable(_ answer: [UInt8]) -> String {
        String(decoding: answer, as: UTF8.self)
            .replacing(/X-App-Assert-Challenge: [0-9a-f]{64}/, with: "X-App-Assert-Challenge: …")
            .replacing(/"requestId":"[0-9a-f]{16}"/, with: "\"requestId\":\"…\"")
            .replacing(/X-Refusal-Request-Id: [0-9a-f]{16}/, with: "X-Refusal-Request-Id: …")
    }
}

/// Upgrades that are admitted and refused, small and large.
private enum UpgradeSamples {
    static let all = admitted + refused + short
    /// To be cut at every position.
    static let short = [
        minimal().text, minimal().offering("telnet").text, minimal().setting("Origin", "https://b.example").text,
        minimal().setting("Upgrade", " \t WebSocket ").setting("Connection", "keep-alive , Upgrade").text,
        minimal().setting("Sec-WebSocket-Version", "8").text, minimal().path("/nowhere").text,
        minimal().path("/mud/nowhere").text,
    ]

    private static let admitted = [
        minimal().path("/?a=[1]|{2}&dialect=raw&cols=80").text, many.text, long.text,
        minimal().setting("Origin", "https://a.example").adding("User-Agent", "Ünïcödé").text,
        "\r\n" + minimal().text, minimal().path("http://localhost/").text,
        minimal().adding("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits").text,
    ]

    private static let refused = [
        minimal().setting("Sec-WebSocket-Key", "AAAA").text, minimal().setting("Sec-WebSocket-Key", nil).text,
        minimal().offering("unknown").text, minimal().adding("Content-Length", "4").text,
        minimal().adding("Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==").text,
        minimal().adding("Authorization", "a").adding("authorization", "b").text, minimal().adding("X", "a\r\n b").text,
        minimal().adding("X-App-Assert-KeyId", "AAAA").text, minimal().path("/?ticket=none").text,
        minimal().adding("Host", "again").text, minimal().adding("bad name", "x").text, minimal().method("POST").text,
        minimal().path("/?target=none&target=none").text, minimal().httpVersion("HTTP/1.0").text,
        minimal().adding("Transfer-Encoding", "chunked").text, minimal().httpVersion("HTTP/2.0").text,
    ]

    private static let many = (0..<90).reduce(minimal()) { $0.adding("X-\($1)", "\($1)") }
    private static let long = minimal().adding("X-Long", String(repeating: "long ", count: 200) + ".")

    private static func minimal() -> Handshake {
        Handshake().setting("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
    }
}
