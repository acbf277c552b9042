import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Upgrades of a gateway that others reach, on a port that its settings name.
    @Suite struct FleetCopyoverTests {
        private struct Pair {
            let fleet: FleetBench
            let gateways: [GatewayProcess]
            let ports: [Int]
            let files: FleetCertificates

            func edge(_ index: Int) -> Edge { Edge(target: fleet.target, gateway: gateways[index]) }

            /// In the file that the gateway was started with.
            func change(_ index: Int, _ change: (GatewaySettings) -> GatewaySettings) throws {
                let gateway = gateways[index]
                let text = change(gateway.settings).values.map { "\($0.key)=\($0.value)\n" }.joined()
                _ = try gateway.directory.write(text, to: "portcullis.env")
            }

            func upgrade(
                _ index: Int, to script: String, in directory: TemporaryDirectory
            ) async throws -> ChildOutput {
                let program = try directory.write("#!/bin/sh\n\(script)\n", to: "program")
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
                let socket = gateways[index].settings["CONTROL_SOCKET_PATH"] ?? ""
                return try await GatewayProcess.run(["upgrade", "--program", program, "--socket", socket])
            }
        }

        /// Gateways that admit everybody.
        private func start(
            _ count: Int = 2, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Pair {
            let fleet = try await FleetBench(target: .scripted)
            let files = try FleetCertificates()
            var (gateways, ports): ([GatewayProcess], [Int]) = ([], [])
            for number in 0..<count {
                let port = try FrontProxy.freePort()
                let settings = try files.listening(fleet.settings, as: "gateway\(number)")
                    .setting("REQUIRE_APP_AUTH", "false").setting("FLEET_BIND", FleetCertificates.listening(on: port))
                gateways.append(try await fleet.gateway { _ in change(settings) })
                ports.append(port)
            }
            return Pair(fleet: fleet, gateways: gateways, ports: ports, files: files)
        }

        // MARK: Listening sockets

        @Test func `every socket on which a gateway listens goes on in the new process`() async throws {
            let pair = try await start { $0.setting("ADMIN_BIND", "127.0.0.1:0") }
            let before = try ListeningSockets.of(pair.gateways[0].processID)
            // Two reactors have sockets for clients and for gateways; the internal listener and the control socket are
            // one each.
            #expect(before.count == 6, "\(before)")
            let successor = try await Successor.start(replacing: pair.gateways[0])
            #expect(try ListeningSockets.of(successor.processID) == before)
            try await pair.gateways[0].child.output.wait(for: "the old process' end") { $0.ending }
            let second = try await Successor.start(replacing: pair.gateways[0])
            #expect(try ListeningSockets.of(second.processID) == before)
            withExtendedLifetime(successor) {}
        }

        @Test func `after an upgrade that failed other gateways still reach the old process`() async throws {
            let pair = try await start()
            let directory = try TemporaryDirectory()
            let player = try await CopyoverPlayer(.typed, at: pair.edge(0), returningTo: pair.edge(1))
            let target = try await pair.fleet.target.connection()
            let reading = Task { try await player.readPast(closes: 1) }
            let output = try await pair.upgrade(
                0, to: HandoverScript.ready() + HandoverScript.take(1_500), in: directory)
            #expect(output.ending == .exited(1) && output.errorText.contains("nothing has changed"), "\(output)")
            try await reading.value
            try await target.send("<back>")
            try await player.read(upTo: "<back>")
            let successor = try await Successor.start(replacing: pair.gateways[0])
            try await player.readPast(closes: 2)
            try await target.send("<moved>")
            try await player.read(upTo: "<moved>")
            #expect(await String(decoding: player.received, as: UTF8.self) == "<back><moved>")
            withExtendedLifetime(successor) {}
        }

        @Test(arguments: [true, false]) func `a new process doesn't keep a port that its settings don't name`(
            hasListener: Bool
        ) async throws {
            let pair = try await start()
            let port = try FrontProxy.freePort()
            try pair.change(0) {
                hasListener
                    ? $0.setting("FLEET_BIND", FleetCertificates.listening(on: port)) : $0.removing("FLEET_BIND")
            }
            let successor = try await Successor.start(replacing: pair.gateways[0])
            try await pair.gateways[0].child.output.wait(for: "the old process' end") { $0.ending }
            await #expect(throws: (any Error).self) { _ = try await RawConnection.open(port: pair.ports[0]) }
            if hasListener {
                _ = try await RawConnection.open(port: port)
            } else {
                await #expect(throws: (any Error).self) { _ = try await RawConnection.open(port: port) }
            }
            withExtendedLifetime(successor) {}
        }

        // MARK: Sessions

        /// Of gateways, clients and upgrades.
        private static let measure: (gateways: Int, clients: Int, upgrades: Int) =
            ProcessInfo.processInfo.environment["PORTCULLIS_FLEET_UPGRADES"].flatMap { Int($0) }.map { (4, 60, $0) }
            ?? (2, 9, 4)

        /// Each resume must succeed, but for an answer that says to come again: see ``CopyoverPlayer``.
        @Test func `no session is lost to any gateway while its own is upgraded again and again`() async throws {
            let measure = Self.measure
            let fleet = try await start(measure.gateways) { $0.waitingForLateCloses }
            var pairs: [(player: CopyoverPlayer, target: CopyoverTarget)] = []
            let isOver = Awaited(false)
            for index in 0..<measure.clients {
                let other = 1 + index % (measure.gateways - 1)
                let player = try await CopyoverPlayer(
                    CopyoverPlayer.Dialect.allCases[index % 3], at: fleet.edge(0), returningTo: fleet.edge(other))
                let target = try await CopyoverTarget(
                    fleet.fleet.target.connection(index), isCompressed: index.isMultiple(of: 2))
                pairs.append((player, target))
            }
            let plays = pairs.map { player, target in Task { try await Self.play(player, target, until: isOver) } }
            var successors: [Successor] = []
            for _ in 0..<measure.upgrades {
                successors.append(try await Successor.start(replacing: fleet.gateways[0]))
                #expect(successors.last?.report.contains("\(measure.clients) sessions went to it") == true)
            }
            isOver.update { $0 = true }
            var rounds = 0
            for (index, play) in plays.enumerated() {
                let end = try await play.value
                #expect(end.isWhole, "player \(index)")
                rounds += end.rounds
            }
            // A client comes back many times: by itself after each round, and when it is sent away.
            #expect(rounds >= measure.clients)
            print("\(measure.clients) clients, \(measure.upgrades) upgrades: \(rounds) resumes besides, none lost")
        }

        /// A line in each direction, and the session is resumed.
        private static func play(
            _ player: CopyoverPlayer, _ target: CopyoverTarget, until isOver: Awaited<Bool>
        ) async throws -> (rounds: Int, isWhole: Bool) {
            var (sent, rounds, isWhole) = ("", 0, true)
            while !isOver.current {
                rounds += 1
                let (line, answer) = ("\(rounds)\r\n", "<\(rounds)>")
                sent += answer
                await player.say("\(rounds)")
                let answering = Task {
                    let heard = try await target.connection.receive(upTo: line)
                    try await target.send(answer)
                    return Array(line.utf8) == Array(heard)
                }
                try await player.read(atLeast: sent.utf8.count)
                isWhole = try await answering.value && isWhole
                try await player.vanish()
            }
            let received = await player.received
            return (rounds, isWhole && received == Array(sent.utf8))
        }

        @Test func `rows of sessions that go stay true, others get another name`() async throws {
            let pair = try await start()
            let (mover, stayer) = (
                try await pair.fleet.apple.enrolledDevice(at: pair.gateways[0]),
                try await pair.fleet.apple.enrolledDevice(at: pair.gateways[0])
            )
            let moving = try await pair.gateways[0].open(mover.handshake(at: pair.gateways[0]))
            _ = try await TypedSession.connect(moving)
            var staying: [TestWebSocket] = []
            for device in [mover, stayer] {
                let handshake = try await device.handshake(at: pair.gateways[0]).offering("telnet")
                staying.append(try await pair.gateways[0].open(handshake))
            }
            try await pair.fleet.eventuallyCounts(3)
            let id = try pair.fleet.text("SELECT gateway FROM portcullis.session")
            #expect(try pair.fleet.holdings(of: id) == "3 of 2")
            let reading = Task { try await moving.closedByServer(within: .seconds(60)) }
            let successor = try await Successor.start(replacing: pair.gateways[0])
            _ = try await reading.value
            try await pair.gateways[0].eventually("each process notes its own sessions") {
                try pair.fleet.holdings(of: id) == "1 of 1" && pair.fleet.holdings(beside: id) == "2 of 2"
            }
            #expect(try pair.fleet.text("SELECT gateway FROM portcullis.session") == id)
            for socket in staying { try await socket.close(1000) }
            try await pair.gateways[0].child.output.wait(for: "the old process' end") { $0.ending }
            #expect(try pair.fleet.text("SELECT gateway FROM portcullis.session") == id)
            #expect(try pair.fleet.holdings(of: id) == "1 of 1")
            #expect(try pair.fleet.text("SELECT count(*)::text FROM portcullis.gateway WHERE id = '\(id)'") == "1")
            withExtendedLifetime(successor) {}
        }

        /// It is slow to answer the close.
        @Test func `a client whose session another gateway has doesn't count as a session that stays`() async throws {
            let pair = try await start()
            let first = try await pair.gateways[0].open()
            let session = try await TypedSession.connect(first)
            let client = try await pair.gateways[1].open()
            try await client.send(text: session.message(after: 0))
            _ = try await client.nextTyped("resumed")
            let successor = try await Successor.start(replacing: pair.gateways[1])
            #expect(successor.report.contains("0 sessions went to it"), "\(successor.report)")
            #expect(successor.report.contains("no session stays with the old process"), "\(successor.report)")
            #expect(try await client.closedByServer().code == 1012)
            withExtendedLifetime(successor) {}
        }

        /// It has said nothing yet, so it isn't sent away.
        @Test func `a client that asks the old process for a session that has gone is sent away`() async throws {
            let pair = try await start { $0.setting("DIALECT_WAIT_MS", 60_000) }
            let silent = try await pair.gateways[0].open()
            let first = try await pair.gateways[0].open()
            let session = try await TypedSession.connect(first)
            let reading = Task { try await first.closedByServer(within: .seconds(60)) }
            let successor = try await Successor.start(replacing: pair.gateways[0])
            _ = try await reading.value
            try await silent.send(text: session.message(after: 0))
            #expect(try await silent.closedByServer().code == 1012)
            let again = try await pair.gateways[0].open()
            try await again.send(text: session.message(after: 0))
            _ = try await again.nextTyped("resumed")
            withExtendedLifetime(successor) {}
        }
    }
}

extension FleetBench {
    fileprivate func text(_ query: String) throws -> String {
        try server.session(database: database).run(query, []).only().text(0)
    }

    /// Sessions and clients.
    fileprivate func holdings(of gateway: String) throws -> String {
        try text(Self.holdings + "gateway = '\(gateway)'")
    }

    fileprivate func holdings(beside gateway: String) throws -> String {
        try text(Self.holdings + "gateway <> '\(gateway)'")
    }

    private static let holdings =
        "SELECT coalesce(sum(sessions), 0)::text || ' of ' || count(*) FROM portcullis.holding WHERE "
}

/// The sockets on which a process listens, by their numbers in the kernel: they stay the same when another process gets
/// them.
private enum ListeningSockets {
    static func of(_ process: Int32) throws -> Set<String> {
        let folder = "/proc/\(process)/fd"
        let links = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
        let open = Set(links.compactMap { $0.firstMatch(of: /^socket:\[(\d+)\]$/).map { String($0.1) } })
        // A table that changes while it is read may leave rows out.
        return try (0..<5).reduce(into: []) { found, _ in found.formUnion(open.intersection(try listening())) }
    }

    /// TCP_LISTEN, and __SO_ACCEPTCON
    private static func listening() throws -> [String] {
        try column(9, of: "tcp", where: 3, is: "0A") + column(9, of: "tcp6", where: 3, is: "0A")
            + column(6, of: "unix", where: 3, is: "00010000")
    }

    private static func column(_ number: Int, of table: String, where other: Int, is value: String) throws -> [String] {
        // Its size is unknown: it is read to its end.
        let text = try FileHandle(forReadingFrom: URL(filePath: "/proc/net/\(table)")).readToEnd() ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count > number && words[other] == value ? String(words[number]) : nil
        }
    }
}
