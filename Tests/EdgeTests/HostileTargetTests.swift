import Compression
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A hostile target can't raise the gateway's memory above its limits, and can't end any session but its own.
    ///
    /// Several targets run each attack at once, against clients that don't read until it is over. The bound is given in
    /// bytes per session: the limits of the queues and of one event of each kind.
    ///
    /// The limits are small, and an attack is more than all of them together allow, but not much more: the gateway
    /// under test isn't optimized, and takes microseconds for each of a target's commands. No test here depends on its
    /// speed: everything that is awaited arrives eventually.
    @Suite struct HostileTargetTests {
        private typealias T = TelnetBytes

        private static let sessions = 4
        /// `SessionLimits.clientBufferBytes` and `targetBufferBytes`.
        private static let buffer = 65_536
        /// `MAX_SUBNEGOTIATION_BYTES`.
        fileprivate static let limit = 16_384
        /// Those three; one read of the target; telnet's replies; a decompressor with a piece of its output; and the
        /// messages of one event, at most one subnegotiation whose bytes all become six in JSON.
        private static let limitPerSession = 2 * buffer + limit + 65_536 + 16_384 + 65_536 + 6 * limit
        /// For the process, independent of the number of sessions: the allocator's arenas, and buffers kept for reuse.
        private static let margin = 3 * 1024 * 1024

        private static var boundKiB: Int { (sessions * limitPerSession + margin) / 1024 }

        enum Dialect: String, CaseIterable, Sendable {
            case terminal, typed
        }

        /// What a target sends, in pieces, and how often. The resulting output or replies are 2 MiB per session:
        /// together nearly twice the bound.
        enum Attack: String, CaseIterable, Sendable {
            case text, unterminatedSubnegotiation, largeSubnegotiations, echoStorm, terminalTypeStorm,
                environmentStorm
            case charsetStorm, windowSizeStorm, gmcpStorm, promptStorm, invalidUTF8, unfinishedCharacters

            var piece: [UInt8] {
                switch self {
                case .text: [UInt8](repeating: 0x61, count: 65_536)
                case .unterminatedSubnegotiation:
                    [T.iac, T.begin, T.gmcp] + [UInt8](repeating: 0x61, count: 4_194_304)
                case .largeSubnegotiations:
                    T.gmcp("Big " + String(repeating: "\u{1}", count: 16_000))
                case .echoStorm: repeated([T.iac, T.will, T.echo, T.iac, T.wont, T.echo], 8_192)
                case .terminalTypeStorm:
                    [T.iac, T.do, T.terminalType] + repeated(T.subnegotiation(T.terminalType, [1]), 8_192)
                case .environmentStorm:
                    [T.iac, T.do, T.newEnvironment] + repeated(T.subnegotiation(T.newEnvironment, [1]), 8_192)
                case .charsetStorm:
                    [T.iac, T.do, T.charset]
                        + repeated(T.subnegotiation(T.charset, [1] + Array(";UTF-8;ISO-8859-1".utf8)), 4_096)
                case .windowSizeStorm:
                    repeated([T.iac, T.do, T.windowSize, T.iac, T.dont, T.windowSize], 8_192)
                case .gmcpStorm: repeated(T.gmcp("A"), 8_192)
                case .promptStorm: repeated([0x3E, T.iac, T.goAhead], 8_192)
                case .invalidUTF8: repeated([0xC3, 0x28, 0xFE, 0xE2, 0x82, 0x41, 0xF5, 0x80], 8_192)
                case .unfinishedCharacters: repeated([0xF0, 0x9F, 0x98], 16_384)
                }
            }

            func count(in dialect: Dialect) -> Int {
                switch self {
                case .text: 32
                case .unterminatedSubnegotiation: 1
                case .largeSubnegotiations: 128
                // A message of 48 bytes for each option in the typed dialect.
                case .echoStorm: dialect == .typed ? 3 : 16
                case .charsetStorm: 16
                case .terminalTypeStorm, .windowSizeStorm: 12
                case .environmentStorm: 6
                case .gmcpStorm: 8
                case .promptStorm: 5
                case .invalidUTF8: 12
                case .unfinishedCharacters: 40
                }
            }

            /// The replies to the target are the same in every dialect. A terminal gets no GMCP and no prompts.
            var dialects: [Dialect] {
                switch self {
                case .terminalTypeStorm, .environmentStorm, .charsetStorm, .windowSizeStorm: [.terminal]
                case .gmcpStorm, .promptStorm: [.typed]
                default: Dialect.allCases
                }
            }

            static var inEachDialect: [(Attack, Dialect)] {
                allCases.flatMap { attack in attack.dialects.map { (attack, $0) } }
            }

            private func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
                [[UInt8]](repeating: bytes, count: count).flatMap { $0 }
            }
        }

        /// Neither the client nor the target reads during the attack, so every queue fills up.
        @Test(arguments: Attack.inEachDialect)
        func `an attack uses no more memory than the limits and ends no session`(attack: Attack, dialect: Dialect)
            async throws
        {
            let stage = try await Stage.start(dialect, sessions: Self.sessions)
            let piece = attack.piece
            let quiet = try ProcessMemory.residentKiB(of: stage.edge.gateway.processID)
            for session in stage.hostile {
                try await session.socket.connection.setReading(false)
                try await session.target.setReading(false)
                // A reply so large that it doesn't fit into the target's socket.
                session.target.post([T.iac, T.will, T.gmcp])
                for _ in 0..<attack.count(in: dialect) { session.target.post(piece) }
                session.target.post([T.iac, T.end] + Array("THE END".utf8) + T.gmcp("The.End"))
            }
            for _ in 0..<20 { try await stage.expectNeighbourLives() }
            for session in stage.hostile {
                try await session.socket.connection.setReading(true)
                try await session.drain(until: dialect == .typed ? "The.End" : "THE END")
            }
            let grown = try ProcessMemory.peakKiB(of: stage.edge.gateway.processID) - quiet
            print("\(attack) \(dialect): \(grown) KiB above \(quiet), bound \(Self.boundKiB)")
            #expect(grown < Self.boundKiB, "\(grown) KiB above \(quiet)")
            // The sessions themselves have survived.
            for session in stage.hostile {
                let line = dialect == .typed ? #"{"type":"input","text":"quit\r\n"}"# : "quit\r\n"
                try await session.socket.send(text: line)
                try await session.target.setReading(true)
                try await Stage.discard(session.target.stream, until: "quit\r\n")
            }
            try await stage.expectNeighbourLives()
        }

        // MARK: Compression

        enum Bomb: CaseIterable, Sendable {
            /// Beyond `DecompressionLimits.ratio`: with bytes that reach the client, and with bytes that don't.
            case letters, zeros

            var byte: UInt8 { self == .zeros ? 0 : 0x61 }
        }

        @Test(arguments: Bomb.allCases, Dialect.allCases)
        func `a compression bomb ends its own session only`(bomb: Bomb, dialect: Dialect) async throws {
            let stage = try await Stage.start(dialect, sessions: Self.sessions)
            let quiet = try ProcessMemory.residentKiB(of: stage.edge.gateway.processID)
            // A zlib stream (RFC 1950) that has its header and no end.
            let deflated = try RawDeflater().deflate([UInt8](repeating: bomb.byte, count: 16 * 1024 * 1024))
            let attacked = stage.hostile.dropLast()
            for session in attacked {
                session.target.post([T.iac, T.will, T.mccp2] + T.subnegotiation(T.mccp2) + [0x78, 0x9C] + deflated)
            }
            for session in attacked {
                let close = try await session.socket.closedByServer(within: Stage.patience)
                #expect(close.code == 1014)
                #expect(close.reason == "target sent a broken stream")
            }
            let grown = try ProcessMemory.peakKiB(of: stage.edge.gateway.processID) - quiet
            print("\(bomb) \(dialect): \(grown) KiB above \(quiet), bound \(Self.boundKiB)")
            #expect(grown < Self.boundKiB, "\(grown) KiB above \(quiet)")
            try await stage.expectNeighbourLives()
            let spared = try #require(stage.hostile.last)
            spared.target.post(Array("THE END".utf8) + [T.iac, T.will, T.gmcp] + T.gmcp("The.End"))
            try await spared.drain(until: dialect == .typed ? "The.End" : "THE END")
        }

        /// Below the ratio a compressed flood is an ordinary flood: back-pressure from the client that doesn't read
        /// stops it.
        @Test(arguments: Dialect.allCases)
        func `compressed text waits for its client`(dialect: Dialect) async throws {
            let stage = try await Stage.start(dialect, sessions: Self.sessions)
            let quiet = try ProcessMemory.residentKiB(of: stage.edge.gateway.processID)
            var generator = SeededGenerator(seed: 11)
            let line = (0..<65_536).map { _ in UInt8.random(in: 0x61...0x64, using: &generator) }
            let text = [[UInt8]](repeating: line, count: 32).flatMap { $0 } + Array("THE END".utf8)
            let compressed = try RawDeflater().deflate(text)
            for session in stage.hostile {
                try await session.socket.connection.setReading(false)
                session.target.post([T.iac, T.will, T.gmcp])
                session.target.post([T.iac, T.will, T.mccp2] + T.subnegotiation(T.mccp2) + [0x78, 0x9C] + compressed)
            }
            for _ in 0..<20 { try await stage.expectNeighbourLives() }
            for session in stage.hostile {
                try await session.socket.connection.setReading(true)
                try await session.read(text.count, dialect)
            }
            let grown = try ProcessMemory.peakKiB(of: stage.edge.gateway.processID) - quiet
            #expect(grown < Self.boundKiB, "\(grown) KiB above \(quiet)")
        }

        // MARK: Half of everything

        @Test(arguments: Dialect.allCases)
        func `a half-sent sequence ends with its target`(dialect: Dialect) async throws {
            let begun: [UInt8] = [T.iac, T.will, T.mccp2] + T.subnegotiation(T.mccp2)
            let halves: [[UInt8]] = [
                [T.iac], [T.iac, T.do], [T.iac, T.begin], [T.iac, T.begin, T.gmcp],
                [T.iac, T.begin, T.gmcp, 0x41],
                [T.iac, T.begin, T.gmcp, 0x41, T.iac], [0xE2, 0x82], [0x1B], [0x1B, 0x5B], begun,
                begun + [0x78],
                begun + [0x78, 0x9C, 0x4B], [T.iac, T.begin, T.newEnvironment, 1, 0],
            ]
            let stage = try await Stage.start(dialect, sessions: halves.count)
            for (session, half) in zip(stage.hostile, halves) {
                try await session.target.send("here")
                try await session.read(4, dialect)
                try await session.target.send(half)
                await session.target.reset()
                let close = try await session.socket.closedByServer()
                #expect(close.code == 1014 && close.reason == "connection to the target was lost", "\(half): \(close)")
                try await stage.expectNeighbourLives()
            }
        }
    }
}

/// Sessions with hostile targets, and an honest one on the same reactor.
private struct Stage: Sendable {
    struct Session: Sendable {
        let socket: TestWebSocket
        let target: TargetConnection

        /// Reads and discards everything up to `mark`, which must be the last data sent.
        func drain(until mark: String) async throws {
            try await Stage.discard(socket.connection.stream, until: mark)
        }

        /// Reads this much text.
        func read(_ count: Int, _ dialect: EdgeTests.HostileTargetTests.Dialect) async throws {
            switch dialect {
            case .terminal: _ = try await socket.receive(count, within: Stage.patience)
            case .typed: _ = try await socket.typedText(count)
            }
        }
    }

    /// Stops a broken test, even on the slowest machine.
    static let patience = Duration.seconds(240)

    let edge: Edge
    let neighbour: Session
    let hostile: [Session]

    static func start(
        _ dialect: EdgeTests.HostileTargetTests.Dialect, sessions: Int,
        _ change: (GatewaySettings) -> GatewaySettings = { $0 }
    ) async throws -> Stage {
        let edge = try await Edge.start(.scripted) {
            // The time that a client takes to read, and its silence, aren't tested here.
            let settings = $0.setting("REACTOR_THREADS", 1).setting("DIALECT_WAIT_MS", 60_000)
                .setting("CLOSE_FLUSH_MS", 240_000).setting("PING_INTERVAL_SECONDS", 3_600)
            return change(settings.setting("MAX_SUBNEGOTIATION_BYTES", EdgeTests.HostileTargetTests.limit))
        }
        let raw = try await edge.gateway.open(Handshake().offering("telnet"))
        let neighbour = Session(socket: raw, target: try await edge.target.connection(0))
        var hostile: [Session] = []
        for number in 1...sessions {
            let handshake = Handshake().setting(
                "Sec-WebSocket-Protocol", dialect == .terminal ? "terminal.mudstandards.org" : nil)
            let socket = try await edge.gateway.open(handshake, receiveBuffer: 131_072)
            if dialect == .typed { try await socket.connectTyped() }
            let target = try await edge.target.connection(number)
            hostile.append(Session(socket: socket, target: target))
        }
        let stage = Stage(edge: edge, neighbour: neighbour, hostile: hostile)
        try await stage.expectNeighbourLives()
        return stage
    }

    /// Discards everything up to `mark`, after which nothing may follow.
    static func discard(_ stream: Awaited<ByteStream>, until mark: String) async throws {
        let mark = Array(mark.utf8)
        try await stream.wait(for: "\(mark)", within: patience) { stream in
            let isThere = stream.unread.suffix(256).firstRange(of: mark) != nil
            // Part of the mark may still follow.
            _ = stream.take(isThere ? stream.count : max(0, stream.count - 256))
            if !isThere, stream.isAtEnd { throw EdgeTestError("the stream ended: \(stream)") }
            return isThere ? true : nil
        }
    }

    func expectNeighbourLives() async throws {
        try await neighbour.socket.send(text: "look")
        #expect(try await neighbour.target.receiveText(4) == "look")
        try await neighbour.target.send("A hall.")
        #expect(try await neighbour.socket.receiveText(7) == "A hall.")
    }
}
