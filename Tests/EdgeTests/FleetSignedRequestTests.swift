import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Synchronization
import Testing

extension EdgeTests {
    /// Signed requests at gateways that share a database, with the window of counters on.
    @Suite struct FleetSignedRequestTests {
        private static let url = "https://api.example.com/preferences"
        private static let (devices, perRound) = (4, 16)

        /// Assertions in all. Each is shown twice, and each counter is in two of them.
        private static let assertions =
            ProcessInfo.processInfo.environment["PORTCULLIS_ASSERTIONS"].flatMap { Int($0) } ?? 1_024

        private func gateways(
            _ fleet: FleetBench, _ count: Int, window: Int = 32
        ) async throws -> [GatewayProcess] {
            var gateways: [GatewayProcess] = []
            for _ in 0..<count {
                gateways.append(
                    try await fleet.gateway {
                        $0.setting("SIGNED_REQUESTS", "on").setting("AUTHZ_ADMIT", "token+signed")
                            .setting("ADMIN_BIND", "127.0.0.1:0").setting("ASSERTION_WINDOW", "\(window)")
                            // All failures come from one address.
                            .setting("FAILED_UPGRADES_PER_MINUTE", "1000000")
                            .setting("CHALLENGES_PER_MINUTE", "1000000")
                            .setting("REQUESTS_PER_SECOND_PER_ADDRESS", "0")
                    })
            }
            return gateways
        }

        @Test func `of assertions that are raced over four gateways each counter passes once`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(fleet, 4)
            let rounds = max(1, Self.assertions / (Self.devices * Self.perRound * 2))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<Self.devices {
                    group.addTask {
                        let client = try SignedClient(fleet.apple, at: gateways[number])
                        #expect(try await client.register().status == 201)
                        try await race(client, at: gateways, rounds, UInt64(number))
                    }
                }
                try await group.waitForAll()
            }
        }

        private func race(
            _ client: SignedClient, at gateways: [GatewayProcess], _ rounds: Int, _ seed: UInt64
        ) async throws {
            var (generator, lanes) = (SeededGenerator(seed: seed), [RawConnection]())
            for gateway in gateways + gateways {
                lanes.append(try await RawConnection.open(port: gateway.internalPort()))
            }
            let edge = try await gateways[Int(seed) % gateways.count].connect()
            for round in 0..<rounds {
                var shown: [Shown] = []
                for counter in UInt32(round * Self.perRound + 2)..<UInt32((round + 1) * Self.perRound + 2) {
                    for _ in 0..<2 {
                        let challenge = try await challenge(on: edge)
                        let fields = try await client.fields("PUT", Self.url, over: challenge, counter: counter)
                        shown += [Shown(counter: counter, fields: fields), Shown(counter: counter, fields: fields)]
                    }
                }
                shown.shuffle(using: &generator)
                let passed = try await passed(shown, lanes)
                #expect(Set(passed.keys).count == Self.perRound && passed.values.allSatisfy { $0 == 1 }, "\(passed)")
            }
        }

        private struct Shown: Sendable {
            let counter: UInt32
            let fields: [String: String]
        }

        /// How often each counter has passed.
        private func passed(_ shown: [Shown], _ lanes: [RawConnection]) async throws -> [UInt32: Int] {
            try await withThrowingTaskGroup(of: [UInt32].self) { group in
                for (number, lane) in lanes.enumerated() {
                    let own = shown.indices.filter { $0 % lanes.count == number }.map { shown[$0] }
                    group.addTask {
                        var passed: [UInt32] = []
                        for one in own {
                            try await lane.send(Self.question(one.fields))
                            let answer = try await lane.answer()
                            if answer.status == 204 { passed.append(one.counter) }
                            #expect(
                                answer.status == 204
                                    || ["invalid_nonce", "assertion_rejected"].contains(answer["x-refusal-code"]),
                                "\(answer)")
                        }
                        return passed
                    }
                }
                return try await group.reduce(into: [:]) { sums, passed in
                    for counter in passed { sums[counter, default: 0] += 1 }
                }
            }
        }

        private static func question(_ fields: [String: String]) -> String {
            "GET /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                + SignedClient.lines(fields) + "\r\n"
        }

        private func challenge(on connection: RawConnection) async throws -> String {
            try await connection.send("GET /challenge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await connection.answer()
            guard let challenge = answer.field("challenge") else { throw EdgeTestError("no challenge: \(answer)") }
            return challenge
        }

        @Test func `a device registers, asks and unregisters at different gateways`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(fleet, 2)
            let client = try SignedClient(fleet.apple, at: gateways[0])
            #expect(try await client.register().status == 201)
            let socket = try await gateways[0].open(Handshake().adding(client.fields("GET", "http://localhost/")))
            client.move(to: gateways[1])
            let fields = try await client.fields("PUT", Self.url)
            #expect(try await gateways[0].ask(Self.question(fields)).status == 204)
            expectRefusal(try await gateways[1].ask(Self.question(fields)), 401, "invalid_nonce")
            #expect(try await client.unregister().status == 200)
            #expect(try await socket.closedByServer().code == 1_008)
            expectRefusal(try await client.unregister(), 404, "unknown_key")
            try await gateways[0].eventually("the key is unknown") {
                let answer = try await gateways[0].ask(Self.question(client.fields("PUT", Self.url)))
                return answer["x-refusal-status"] == "428"
            }
        }

        @Test func `a window that goes off and on again, gateway by gateway, opens nothing that lies before`()
            async throws
        {
            let fleet = try await FleetBench()
            let gateways = try await gateways(fleet, 2)
            let client = try SignedClient(fleet.apple, at: gateways[0])
            #expect(try await client.register().status == 201)
            func status(_ counter: UInt32, at gateway: GatewayProcess) async throws -> Int {
                try await gateway.ask(Self.question(client.fields("PUT", Self.url, counter: counter))).status
            }
            for counter in [UInt32(20), 12] { #expect(try await status(counter, at: gateways[0]) == 204) }
            try await gateways[0].reload(gateways[0].settings.setting("ASSERTION_WINDOW", "0"))
            #expect(try await status(15, at: gateways[0]) == 401)
            #expect(try await status(15, at: gateways[1]) == 204)
            try await gateways[1].reload(gateways[1].settings.setting("ASSERTION_WINDOW", "0"))
            for gateway in gateways.reversed() {
                try await gateway.reload(gateway.settings)
                for counter in [UInt32(13), 19] { #expect(try await status(counter, at: gateway) == 401) }
            }
            #expect(try await status(23, at: gateways[0]) == 204)
            #expect(try await status(22, at: gateways[1]) == 204)
        }

        @Test func `a window that has gone with its gateway opens nothing when it is back`() async throws {
            let fleet = try await FleetBench()
            let left = try #require(try await gateways(fleet, 1, window: 0).first)
            let gone = try #require(try await gateways(fleet, 1).first)
            let client = try SignedClient(fleet.apple, at: left)
            #expect(try await client.register().status == 201)
            func status(_ counter: UInt32, at gateway: GatewayProcess) async throws -> Int {
                try await gateway.ask(Self.question(client.fields("PUT", Self.url, counter: counter))).status
            }
            for counter in [UInt32(20), 12] { #expect(try await status(counter, at: gone) == 204) }
            try await left.errorLine("a gateway joined the fleet", ":\(gone.port)")
            let epoch = try fleet.window().epoch
            _ = try await gone.stop()
            try await Poll.untilTrue("the window of the one that is left") { try fleet.window().size == 0 }
            let next = try #require(try await gateways(fleet, 1).first)
            #expect(try fleet.window().epoch > epoch)
            for counter in [UInt32(13), 19] { #expect(try await status(counter, at: next) == 401) }
            #expect(try await status(23, at: next) == 204)
            #expect(try await status(22, at: next) == 204)
        }

        @Test func `while the database is down a reload that changes the window is refused, and no other one`()
            async throws
        {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateway = try #require(try await gateways(fleet, 1).first)
            try await server.crash()
            let other = gateway.settings.setting("FAILED_UPGRADES_PER_MINUTE", "999999")
            try await gateway.reload(other)
            await #expect(throws: EdgeTestError.self) {
                try await gateway.reload(other.setting("ASSERTION_WINDOW", "8"))
            }
            #expect(gateway.output.errorText.contains("ASSERTION_WINDOW can't be recorded"))
        }
    }
}
