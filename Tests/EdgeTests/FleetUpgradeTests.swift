import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Upgrades of a gateway that others reach, on a port that its settings name.
    @Suite struct FleetUpgradeTests {
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

        /// Two gateways that admit everybody.
        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Pair {
            let fleet = try await FleetBench(target: .scripted)
            let files = try FleetCertificates()
            var (gateways, ports): ([GatewayProcess], [Int]) = ([], [])
            for number in 0..<2 {
                let port = try FrontProxy.freePort()
                let settings = try files.listening(fleet.settings, as: "gateway\(number)")
                    .setting("REQUIRE_APP_AUTH", "false").setting("FLEET_PORT", port)
                gateways.append(try await fleet.gateway { _ in change(settings) })
                ports.append(port)
            }
            return Pair(fleet: fleet, gateways: gateways, ports: ports, files: files)
        }

        // MARK: Listening sockets

        @Test func `every socket on which a gateway listens goes on in the new process`() async throws {
            let pair = try await start { $0.setting("ADMIN_BIND", "127.0.0.1:0") }
            let before = try ListeningSockets.of(pair.gateways[0].processID)
            // Two reactors have sockets for clients and for gateways; the internal listener and the control socket are one each.
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
            try pair.change(0) { hasListener ? $0.setting("FLEET_PORT", port) : $0.removing("FLEET_BIND") }
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
    }
}

/// The sockets on which a process listens, by their numbers in the kernel: they stay the same when another process gets them.
private enum ListeningSockets {
    static func of(_ process: Int32) throws -> Set<String> {
        let folder = "/proc/\(process)/fd"
        let links = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
        }
        let open = Set(links.compactMap { $0.firstMatch(of: /^socket:\[(\d+)\]$/).map { String($0.1) } })
        return try open.intersection(
            // TCP_LISTEN, and __SO_ACCEPTCON
            column(9, of: "tcp", where: 3, is: "0A") + column(9, of: "tcp6", where: 3, is: "0A")
                + column(6, of: "unix", where: 3, is: "00010000"))
    }

    private static func column(_ number: Int, of table: String, where other: Int, is value: String) throws -> [String] {
        try String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            return words.count > number && words[other] == value ? String(words[number]) : nil
        }
    }
}
