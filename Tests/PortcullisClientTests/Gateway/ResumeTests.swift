import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

extension GatewayTests {
    /// Sessions that survive what happens to connections.
    @Suite struct ResumeTests {
        /// What the target has received, up to this text.
        private func received(_ target: TargetConnection, upTo end: String) async throws -> String {
            let mark = Array(end.utf8)
            return try await target.stream.wait(for: end, within: .seconds(120)) { stream in
                guard let found = stream.unread.firstRange(of: mark) else { return nil }
                return stream.take(found.upperBound - stream.unread.startIndex).map {
                    String(decoding: $0, as: UTF8.self)
                }
            }
        }

        @Test func `500 cuts at random bytes lose no output and send no input twice`() async throws {
            let stage = try await Stage(.scripted, tls: false) {
                $0.setting("REQUIRE_APP_AUTH", "false").setting("OUTPUT_BUFFER_BYTES", "1048576")
            }
            let relay = try await CuttingRelay.start(to: stage.gateway.port, seed: 32, after: 100...6_000)
            let bench = try stage.bench(port: relay.port)
            let player = Player(bench.client.connect(ConnectionOptions(.none)))
            let target = try await stage.target.connection(within: .seconds(60))
            // Both directions, until there were enough cuts.
            let output = Task { () -> Int in
                var count = 0
                while relay.cuts < 500 {
                    count += 1
                    try await target.send("out \(count) \(String(repeating: ".", count: count % 400))\n")
                    // Not faster than the player.
                    let behind = count - 200
                    try await player.wait(for: "output", within: .seconds(120)) {
                        behind < 1 || $0.gaps > 0 || $0.text.contains("out \(behind) ")
                    }
                }
                try await target.send("the end of the output\n")
                return count
            }
            let input = Task { () -> Int in
                var count = 0
                while relay.cuts < 500 {
                    count += 1
                    _ = try await player.connection.send("in \(count)")
                    let settled = count - 20
                    try await player.wait(for: "confirmations", within: .seconds(120)) {
                        settled < 1 || $0.outcomes.count >= settled
                    }
                }
                return count
            }
            try await relay.cuts(500)
            relay.stop()
            let (sent, said) = (try await output.value, try await input.value)
            try await player.text("the end of the output", within: .seconds(60))
            try await player.wait(for: "all confirmations", within: .seconds(60)) { $0.outcomes.count >= said }
            let seen = player.seen.current
            #expect(seen.outcomes == (1...said).map { .delivered(InputNumber($0)) })
            #expect(try await received(target, upTo: "in \(said)\r\n") == (1...said).map { "in \($0)\r\n" }.joined())
            let lines = seen.text.split(separator: "\n").dropLast().map { $0.split(separator: " ")[1] }
            if seen.gaps == 0 { #expect(lines.map(String.init) == (1...sent).map(String.init)) }
            #expect(seen.end == nil && seen.connections > 300)
        }

        @Test(arguments: [SessionDialect.gmcp, .json])
        func `50 cuts in dialects that count bytes lose no output, and tell what became of inputs`(
            dialect: SessionDialect
        ) async throws {
            let stage = try await Stage(.scripted, tls: false) {
                $0.setting("REQUIRE_APP_AUTH", "false").setting("OUTPUT_BUFFER_BYTES", "1048576")
            }
            let relay = try await CuttingRelay.start(to: stage.gateway.port, seed: 7, after: 300...3_000)
            let player = Player(
                try stage.bench(port: relay.port).client.connect(ConnectionOptions(.none, dialect: dialect)))
            let target = try await stage.target.connection(within: .seconds(60))
            var (sent, said) = (0, 0)
            while relay.cuts < 50 {
                (sent, said) = (sent + 1, said + 1)
                try await target.send("out \(sent) \(String(repeating: ".", count: 50))\n")
                _ = try await player.connection.send("in \(said)")
                let (line, settled) = (sent, said - 5)
                try await player.wait(for: "output", within: .seconds(60)) {
                    $0.gaps > 0 || $0.text.contains("out \(line) ")
                }
                try await player.wait(for: "outcomes", within: .seconds(60)) {
                    settled < 1 || Self.settled($0.outcomes).count >= settled
                }
            }
            relay.stop()
            try await target.send("the end\n")
            try await player.text("the end", within: .seconds(60))
            _ = try await player.connection.send("in end")
            let all = said + 1
            try await player.wait(for: "all outcomes", within: .seconds(60)) { Self.settled($0.outcomes).count == all }
            let seen = player.seen.current
            let lines = seen.text.split(separator: "\n").dropLast().map { String($0.split(separator: " ")[1]) }
            if seen.gaps == 0 { #expect(lines == (1...sent).map(String.init)) }
            // Every input that was called delivered has arrived, and none twice.
            let arrived = try await received(target, upTo: "in end\r\n").components(separatedBy: "\r\n").dropLast()
            #expect(Set(arrived).count == arrived.count)
            for case .delivered(let number) in seen.outcomes where number <= said {
                #expect(arrived.contains("in \(number)"), "\(number)")
            }
        }

        private static func settled(_ outcomes: [InputOutcome]) -> Set<InputNumber> {
            outcomes.reduce(into: []) { settled, outcome in
                switch outcome {
                case .delivered(let number), .refused(let number, _): settled.insert(number)
                case .uncertain(let numbers), .undelivered(let numbers): settled.formUnion(numbers)
                }
            }
        }

        @Test func `output beyond the gateway's reserve is told as a gap`() async throws {
            let stage = try await Stage(.scripted, tls: false) {
                $0.setting("REQUIRE_APP_AUTH", "false").setting("OUTPUT_BUFFER_BYTES", "4096")
            }
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let player = Player(try stage.bench(port: relay.port).client.connect(ConnectionOptions(.none)))
            let target = try await stage.target.connection()
            try await player.connected()
            await relay.cut()
            for _ in 0..<100 { try await target.send(String(repeating: "x", count: 1_000)) }
            try await target.send("the end")
            relay.mend()
            try await player.text("the end")
            let bytes = player.seen.current.events.compactMap { if case .gap(let gap) = $0 { gap.bytes } else { nil } }
            #expect(bytes.reduce(0, +) + UInt64(player.seen.current.output.count) == 100_007)
        }

        @Test func `a resume after a cut takes less than a second at the median`() async throws {
            let stage = try await Stage()
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let player = Player(try stage.bench(port: relay.port).client.connect(ConnectionOptions(.assertion)))
            var times: [Duration] = []
            for round in 1...15 {
                try await player.connected(times: round)
                try await Stage.expectEcho(player, "round \(round)")
                let start = ContinuousClock.now
                await relay.cut()
                relay.mend()
                try await player.connected(times: round + 1)
                times.append(start.duration(to: .now))
            }
            let median = times.sorted()[times.count / 2]
            print("a resume after a cut takes \(median) at the median")
            #expect(median < .seconds(1))
        }

        @Test func `a connection that falls silent is noticed, and the session comes back`() async throws {
            let stage = try await Stage()
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let bench = try stage.bench(port: relay.port) {
                ($0.reconnection.probeAfter, $0.reconnection.probeWithin) = (0.4, 0.4)
            }
            let player = Player(bench.client.connect(ConnectionOptions(.assertion)))
            try await Stage.expectEcho(player)
            try await relay.silence()
            let number = try await player.connection.send("into the silence")
            try await player.connected(times: 2)
            try await player.wait(for: "the confirmation") { $0.outcomes.contains(.delivered(number)) }
            try await player.text("into the silence")
        }

        @Test(arguments: [SessionDialect.typed, .gmcp, .json])
        func `a gateway that is stopped for a while is waited for`(dialect: SessionDialect) async throws {
            let stage = try await Stage()
            let bench = try stage.bench {
                ($0.reconnection.probeAfter, $0.reconnection.probeWithin, $0.limits.upgrade) = (0.4, 0.4, 1)
            }
            let player = Player(bench.client.connect(ConnectionOptions(dialect: dialect)))
            try await Stage.expectEcho(player)
            stage.gateway.child.signal(SIGSTOP)
            try await player.wait(for: "the loss") {
                $0.states.contains { if case .waiting = $0 { true } else { false } }
            }
            let number = try await player.connection.send("while it sleeps")
            stage.gateway.child.signal(SIGCONT)
            try await player.connected(times: 2)
            try await player.wait(for: "the confirmation") { $0.outcomes.contains(.delivered(number)) }
            try await player.text("while it sleeps")
            #expect(player.seen.current.end == nil)
        }

        @Test(arguments: [SessionDialect.typed, .gmcp, .json])
        func `a connection that is dropped leaves its session, and a closed one ends it`(dialect: SessionDialect)
            async throws
        {
            let stage = try await Stage(.scripted) { $0.setting("REQUIRE_APP_AUTH", "false") }
            let bench = try stage.bench()
            for (index, closes) in [false, true].enumerated() {
                do {
                    let player = Player(bench.client.connect(ConnectionOptions(.none, dialect: dialect)))
                    try await player.connected()
                    _ = try await stage.target.connection(index)
                    if closes { await player.connection.close() }
                }
                try await stage.gateway.errorLine(closes ? "session ended" : "session detached")
            }
            _ = try await stage.target.connection(1).receiveToEnd()
            #expect(try await stage.target.connection(0).stream.current.isAtEnd == false)
        }

        @Test func `the network's return and the app's wish end a pause`() async throws {
            let stage = try await Stage { $0.setting("REQUIRE_APP_AUTH", "false") }
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let path = SwitchedPath()
            let bench = try Bench(
                "https://localhost:\(relay.port)", apple: stage.apple, trust: stage.trust, network: path
            ) { ($0.reconnection.firstDelay, $0.reconnection.longestDelay) = (1_000, 1_000) }
            let player = Player(bench.client.connect(ConnectionOptions(.none)))
            let wakes: [@Sendable () -> Void] = [{ path.change(true) }, { player.connection.reconnectNow() }]
            for (round, wake) in wakes.enumerated() {
                try await player.connected(times: round + 1)
                let waits = player.seen.current.states.count
                await relay.cut()
                // The first attempt comes at once, and fails; the second would come after many minutes.
                try await player.wait(for: "a long pause") { seen in
                    seen.states.dropFirst(waits).contains {
                        if case .waiting(let seconds, _) = $0 { seconds > 100 } else { false }
                    }
                }
                relay.mend()
                wake()
            }
            try await player.connected(times: 3)
        }

        // MARK: Gateways that end

        @Test func `kill -9 of the gateway ends the session, and what became of inputs is told`() async throws {
            let stage = try await Stage()
            let (port, bench) = (stage.gateway.port, try stage.bench())
            let player = Player(bench.client.connect())
            try await Stage.expectEcho(player)
            try await stage.gateway.killNow()
            let number = try await player.connection.send("into the void")
            let again = try await GatewayProcess.start(
                stage.gateway.settings.setting("WS_PORT", port), in: stage.gateway.directory)
            let end = try await player.end(within: .seconds(60))
            #expect(end.cause == .sessionExpired && end.action == .connectAgain)
            // It may have been written before the connection was seen to be gone.
            let told: [InputOutcome?] = [.undelivered([number]), .uncertain([number])]
            #expect(told.contains(player.seen.current.outcomes.last))
            await #expect(throws: GateError.notConnected) { try await player.connection.send("too late") }
            // The next session begins with the token that the app has, and the nonce that a restarted gateway demands.
            try await Stage.expectEcho(Player(bench.client.connect()))
            withExtendedLifetime(again) {}
        }

        @Test(arguments: [SessionDialect.typed, .gmcp, .json])
        func `an upgrade of the gateway is survived`(dialect: SessionDialect) async throws {
            let stage = try await Stage()
            let player = Player(try stage.bench().client.connect(ConnectionOptions(.assertion, dialect: dialect)))
            try await Stage.expectEcho(player)
            let upgraded = try await GatewayProcess.run(["upgrade", "--socket", stage.directory.file("control.sock")])
            #expect(upgraded.ending == .exited(0), "\(upgraded)")
            try await player.connected(times: 2)
            try await Stage.expectEcho(player, "in the new process")
            #expect(player.seen.current.gaps == 0)
            if let successor = upgraded.outputText.firstMatch(of: /process (\d+)/).flatMap({ Int32($0.1) }) {
                kill(successor, SIGKILL)
            }
        }

        @Test func `the shutdown of the gateway is waited out, and the session is told to have ended`() async throws {
            let stage = try await Stage()
            let (port, bench) = (stage.gateway.port, try stage.bench())
            let player = Player(bench.client.connect())
            try await Stage.expectEcho(player)
            try await stage.gateway.stop()
            try await player.wait(for: "a pause") {
                $0.states.contains { if case .waiting = $0 { true } else { false } }
            }
            let again = try await GatewayProcess.start(
                stage.gateway.settings.setting("WS_PORT", port), in: stage.gateway.directory)
            #expect(try await player.end(within: .seconds(60)).cause == .sessionExpired)
            withExtendedLifetime(again) {}
        }

        @Test func `the service's end, another device and a session's age have their own reasons`() async throws {
            let stage = try await Stage(.scripted)
            let bench = try stage.bench()
            let player = Player(bench.client.connect())
            let target = try await stage.target.connection()
            try await target.send("bye")
            try await target.finish()
            #expect(try await player.end().cause == .serviceClosed)
            #expect(player.seen.current.text == "bye")
        }

        @Test func `a service that is away is told`() async throws {
            let stage = try await Stage()
            await stage.target.stopListening()
            for dialect in SessionDialect.allCases {
                let end = try await Player(try stage.bench().client.connect(ConnectionOptions(dialect: dialect))).end()
                #expect(
                    end.cause == .serviceUnreachable && end.action == .connectLater(seconds: 30), "\(dialect): \(end)")
            }
        }

        @Test func `a gateway that isn't there is given up`() async throws {
            let stage = try await Stage()
            let bench = try stage.bench { $0.reconnection.firstConnectionWithin = 0.5 }
            try await stage.gateway.stop()
            let end = try await Player(bench.client.connect(ConnectionOptions(.none))).end()
            #expect(end.cause == .unreachable && end.error == .network(.unreachable))
        }

        @Test func `a connection that the app drops closes its socket`() async throws {
            let stage = try await Stage(.scripted) { $0.setting("REQUIRE_APP_AUTH", "false") }
            let bench = try stage.bench()
            let target: TargetConnection
            do {
                let player = Player(bench.client.connect(ConnectionOptions(.none, dialect: .raw)))
                // A gateway that hears of the drop before it has dialled doesn't dial at all.
                target = try await stage.target.connection()
                try await player.connected()
            }
            _ = try await target.receiveToEnd()
        }
    }
}

/// A network that a test switches.
final class SwitchedPath: NetworkPath {
    private let observers = Awaited<[@Sendable (Bool) -> Void]>([])

    func observe(_ changed: @escaping @Sendable (Bool) -> Void) -> @Sendable () -> Void {
        observers.update { $0.append(changed) }
        return {}
    }

    func change(_ isAvailable: Bool) {
        for observer in observers.current { observer(isAvailable) }
    }
}
