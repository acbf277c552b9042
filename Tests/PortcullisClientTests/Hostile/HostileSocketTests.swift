import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

@Suite("A hostile WebSocket", .timeLimit(.minutes(10)))
struct HostileSocketTests {
    private func player(
        _ dialect: SessionDialect = .raw, headers: [String: String] = [:],
        _ change: (inout GateConfiguration) -> Void = { _ in },
        _ script: @escaping @Sendable (StandInSocket) async throws -> Void
    ) async throws -> (Player, StandIn) {
        let server = try await StandIn { _ in .webSocket(headers: headers, script) }
        let bench = try Bench(server.url, change)
        return (Player(bench.client.connect(ConnectionOptions(.none, dialect: dialect)), at: server), server)
    }

    private func end(
        _ dialect: SessionDialect = .raw, _ change: (inout GateConfiguration) -> Void = { _ in },
        _ script: @escaping @Sendable (StandInSocket) async throws -> Void
    ) async throws -> ConnectionEnd {
        let (player, _) = try await player(dialect, change, script)
        return try await player.end()
    }

    @Test(arguments: [
        WebSocketFrame(WebSocketFrame.Opcode.binary, [1], reserved: 4),
        WebSocketFrame(WebSocketFrame.Opcode.continuation, [1]),
        WebSocketFrame(3, [1]), WebSocketFrame(WebSocketFrame.Opcode.text, [0xFF]),
        WebSocketFrame(WebSocketFrame.Opcode.text, [0xE2, 0x82]),
    ])
    func `a frame that breaks the protocol ends the connection`(frame: WebSocketFrame) async throws {
        let end = try await end { socket in
            try await socket.send(frame)
            try await socket.idle()
        }
        #expect(end.cause == .protocolViolation && end.action == .connectAgain, "\(end)")
    }

    @Test func `a message inside another is a violation`() async throws {
        let end = try await end { socket in
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.text, [0x61], isFinal: false))
            try await socket.send(.text("b"))
            try await socket.idle()
        }
        #expect(end.cause == .protocolViolation)
    }

    @Test func `a message at the limit arrives, and a larger one ends the connection`() async throws {
        let (player, _) = try await player(.raw, { $0.limits.messageBytes = 4_096 }) { socket in
            try await socket.send(.binary([UInt8](repeating: 0x61, count: 4_096)))
            try await socket.send(
                WebSocketFrame(WebSocketFrame.Opcode.binary, [UInt8](repeating: 0x62, count: 4_000), isFinal: false))
            try await socket.send(
                WebSocketFrame(WebSocketFrame.Opcode.continuation, [UInt8](repeating: 0x62, count: 97)))
            try await socket.idle()
        }
        #expect(try await player.end().error == .malformedAnswer(.bodyTooLarge))
        #expect(player.seen.current.output.count == 4_096)
    }

    @Test func `a frame of an announced exabyte ends the connection`() async throws {
        let end = try await end { socket in
            try await socket.connection.send([0x82, 127, 0x0F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
            try await socket.idle()
        }
        #expect(end.cause == .protocolViolation)
    }

    @Test func `endless empty fragments end the connection`() async throws {
        let end = try await end(.raw, { $0.limits.messageBytes = 4_096 }) { socket in
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.binary, [], isFinal: false))
            while true { try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.continuation, [], isFinal: false)) }
        }
        #expect(end.error == .malformedAnswer(.bodyTooLarge))
    }

    @Test func `an extension that wasn't offered ends the attempt`() async throws {
        let (player, _) = try await player(headers: ["Sec-WebSocket-Extensions": "permessage-deflate"]) {
            try await $0.idle()
        }
        #expect(try await player.end().cause == .failed)
    }

    @Test func `a 101 with the wrong key ends the attempt`() async throws {
        let (player, server) = try await player(headers: ["Sec-WebSocket-Accept": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="]) {
            try await $0.idle()
        }
        #expect(try await player.end().cause == .failed)
        #expect(server.requests.count == 1)
    }

    @Test func `a flood of pings is answered with a bounded number of pongs, and doesn't starve the output`()
        async throws
    {
        let (player, _) = try await player { socket in
            // Written in pieces: a machine with much else to do would take minutes for as many turns of a task.
            let ping = WebSocketFrame.ping([UInt8](repeating: 1, count: 100)).encoded(mask: nil)
            let piece = [UInt8]((0..<100).flatMap { _ in ping })
            for _ in 0..<40 { try await socket.connection.send(piece) }
            try await socket.send(.binary(Array("there".utf8)))
            try await socket.idle()
        }
        try await player.text("there")
    }

    @Test func `a server that isn't read by the app stops sending, and memory stays bounded`() async throws {
        let sent = Awaited(0)
        let server = try await StandIn { _ in
            .webSocket { socket in
                while true {
                    try await socket.send(.binary([UInt8](repeating: 0x61, count: 16_384)))
                    sent.update { $0 += 16_384 }
                }
            }
        }
        let bench = try Bench(server.url)
        let connection = bench.client.connect(ConnectionOptions(.none, dialect: .raw))
        // The queue of events, the inbox, and the sockets' own buffers.
        try await sent.wait(for: "a megabyte") { $0 > 1 << 20 ? () : nil }
        var before = sent.current
        while (try? await sent.wait(
            for: "more", within: .milliseconds(300), until: { [before] in $0 > before ? () : nil })) != nil
        {
            before = sent.current
        }
        #expect(sent.current < 16 << 20)
        var events = connection.makeAsyncIterator()
        for _ in 0..<200 { _ = await events.next() }
        try await sent.wait(for: "more") { [before] in $0 > before ? () : nil }
        await connection.close()
    }

    @Test func `an app that closes during a pause has its end, and nothing is opened any more`() async throws {
        let isMended = Awaited(false)
        let server = try await StandIn { _ in
            isMended.current ? .webSocket { try await $0.idle() } : .reply(503)
        }
        let bench = try Bench(server.url) {
            ($0.reconnection.firstDelay, $0.reconnection.longestDelay) = (1_000, 1_000)
        }
        let player = Player(bench.client.connect(ConnectionOptions(.none, dialect: .raw)), at: server)
        try await player.wait(for: "the pause") { seen in
            seen.states.contains { if case .waiting = $0 { true } else { false } }
        }
        isMended.update { $0 = true }
        await player.connection.close()
        #expect(try await player.end().cause == .clientClosed)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [SessionDialect.raw, .typed])
    func `an app that closes during an upgrade has its end, and so has the connection`(dialect: SessionDialect)
        async throws
    {
        let (isOpen, gone) = (Awaited(false), Awaited(false))
        let server = try await StandIn { _ in
            _ = try? await isOpen.wait(for: "the door") { $0 ? () : nil }
            return .webSocket { socket in
                defer { gone.update { $0 = true } }
                try await socket.idle()
            }
        }
        let bench = try Bench(server.url)
        let player = Player(bench.client.connect(ConnectionOptions(.none, dialect: dialect)), at: server)
        _ = try await server.request(0)
        await player.connection.close()
        isOpen.update { $0 = true }
        #expect(try await player.end().cause == .clientClosed)
        try await gone.wait(for: "the socket's end") { $0 ? () : nil }
        #expect(player.seen.current.connections == 0)
    }

    @Test func `an app that drops a connection it hasn't read leaves no socket`() async throws {
        let gone = Awaited(false)
        let server = try await StandIn { _ in
            .webSocket { socket in
                defer { gone.update { $0 = true } }
                while true { try await socket.send(.binary([UInt8](repeating: 0x61, count: 16_384))) }
            }
        }
        let bench = try Bench(server.url)
        do {
            let connection = bench.client.connect(ConnectionOptions(.none, dialect: .raw))
            var events = connection.makeAsyncIterator()
            for _ in 0..<10 { _ = await events.next() }
        }
        try await gone.wait(for: "the socket's end") { $0 ? () : nil }
    }

    @Test func `an app that reads slowly isn't taken for a lost connection`() async throws {
        let total = 200 * 16_384
        let server = try await StandIn { _ in
            .webSocket { socket in
                for _ in 0..<200 {
                    try await socket.send(.binary([UInt8](repeating: 0x61, count: 16_384)))
                }
                try await socket.idle()
            }
        }
        let clock = ManualClock()
        let bench = try Bench(server.url, clock: clock) { $0.limits.queuedEvents = 4 }
        let connection = bench.client.connect(ConnectionOptions(.none, dialect: .raw))
        var events = connection.makeAsyncIterator()
        for _ in 0..<3 { _ = await events.next() }
        while connection.driver.events.hasRoom {
            try Task.checkCancellation()
            await Task.yield()
        }
        // Two minutes in which nothing is read.
        for _ in 0..<24 { try await clock.pass(4...5) }
        var received = 16_384
        while received < total, let event = await events.next() {
            if case .output(let output) = event { received += output.bytes.count }
            if case .state(.ended(let end)) = event { Issue.record("\(end)") }
        }
        #expect(received == total)
    }

    @Test func `a session that is lost again and again comes back at a bounded rate`() async throws {
        let server = try await StandIn { _ in
            .webSocket { socket in
                _ = try await socket.message()
                try await socket.send(
                    #"{"type":"session","sessionId":"s","token":"t","capabilities":["gap","tokenRotation"]}"#)
                try await socket.send(.close(1012))
                try await socket.idle()
            }
        }
        let clock = ManualClock()
        let bench = try Bench(server.url, clock: clock) { $0.reconnection = ReconnectPolicy() }
        let player = Player(bench.client.connect(ConnectionOptions(.none)))
        let pusher = Task {
            while !Task.isCancelled { clock.sleeps.isEmpty ? await Task.yield() : clock.advance(0.05) }
        }
        defer { pusher.cancel() }
        let start = clock.now
        try await player.wait(for: "many connections") { $0.connections + $0.states.count > 90 || $0.end != nil }
        // Twenty at once, and one a second.
        #expect(Double(server.requests.count) <= 22 + (clock.now - start))
    }

    @Test(arguments: [SessionDialect.typed, .gmcp, .json])
    func `a gateway that answers pings and names no session is given up`(dialect: SessionDialect) async throws {
        let (player, server) = try await player(
            dialect,
            {
                $0.limits.upgrade = 2
                ($0.reconnection.firstConnectionWithin, $0.reconnection.probeAfter) = (2, 0.4)
            }
        ) { socket in
            try await socket.idle()
        }
        #expect(try await player.end().cause == .unreachable)
        #expect(player.seen.current.connections == 0 && server.requests.count == 1)
    }

    @Test func `a circuit breaker that others have opened ends no session that can be resumed`() async throws {
        let cut = Awaited(false)
        let server = try await StandIn { request in
            guard request.path == "/" else { return .reply(404) }
            return .webSocket { socket in
                let type = try await socket.message().contains("resume") ? "resumed" : "session"
                try await socket.send(
                    #"{"type":"\#(type)","sessionId":"s","token":"t","capabilities":["gap","tokenRotation"]}"#)
                if type == "session" {
                    try await cut.wait(for: "the cut", within: .seconds(60)) { $0 ? () : nil }
                    try await socket.send(.close(1012))
                }
                try await socket.idle()
            }
        }
        let client = try Bench(server.url).client
        let player = Player(client.connect(ConnectionOptions(.none)), at: server)
        try await player.connected()
        for _ in 0..<3 { _ = try await Player(client.connect(ConnectionOptions(.none, route: "wrong"))).end() }
        cut.update { $0 = true }
        try await player.wait(for: "the pause") { seen in
            seen.states.contains { if case .waiting(_, .circuitOpen(_, _)?) = $0 { true } else { false } }
        }
        await client.tryAgain(.connection)
        player.connection.reconnectNow()
        try await player.connected(times: 2)
        #expect(player.seen.current.states.last == .connected(isResumed: true))
    }

    @Test func `a hint of years is a minute`() async throws {
        let (player, _) = try await player(.typed) { socket in
            _ = try await socket.message()
            try await socket.send(
                #"{"type":"session","sessionId":"s","token":"t","capabilities":["gap","tokenRotation"]}"#)
            try await socket.send(#"{"type":"draining","reconnectAfterMs":999999999999}"#)
            try await socket.send(.close(1012))
            try await socket.idle()
        }
        try await player.wait(for: "a pause") { seen in
            seen.states.contains {
                if case .waiting(let seconds, _) = $0 { seconds <= 60.5 && seconds >= 60 } else { false }
            }
        }
    }

    @Test func `a close reason is no secret of the log, and not longer than a line`() async throws {
        let secret = String(repeating: "s3cret", count: 19)
        let server = try await StandIn { _ in
            .webSocket { socket in
                try await socket.send(.close(1008, secret))
                try await socket.idle()
            }
        }
        let bench = try Bench(server.url)
        let end = try await Player(bench.client.connect(ConnectionOptions(.none, dialect: .raw)), at: server).end()
        #expect(end.cause == .failed && end.error?.description.contains("s3cret") == false)
        let lines = bench.lines.current
        #expect(lines.contains { $0.contains("closed with 1008") } && !lines.contains { $0.contains("s3cret") })
    }
}
