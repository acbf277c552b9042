import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// The database of a fleet fails: nobody is admitted twice, no session notices, and the fleet recovers by itself.
    @Suite struct FleetFaultTests {
        @Test func `while the database is down clients are told when to come back, and sessions go on`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let used = try await device.handshake(at: gateways[0])
            let socket = try await gateways[1].open(used)
            let early = try await device.handshake(at: gateways[0])
            try await server.crash()
            for gateway in gateways {
                let answer = try await gateway.refusal(device.handshake(at: gateway))
                expectRefusal(answer, 503, "store_unavailable")
                #expect(answer["retry-after"].flatMap { Int($0) }.map { (1...10).contains($0) } == true, "\(answer)")
            }
            try await Edge.expectEcho(socket)
            try await server.start()
            for gateway in gateways {
                try await gateway.eventually("the gateway admits again") {
                    if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
                }
                // The crash may have lost the newest counters: what was issued before it is foreign.
                for handshake in [used, early] {
                    expectRefusal(try await gateway.refusal(handshake), 401, "invalid_nonce")
                }
            }
            try await Edge.expectEcho(socket)
        }

        @Test func `a crash of the database admits no used proof, and turns away no phone for its clock`()
            async throws
        {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateways = try await fleet.gateways(2)
            var client = try TokenClient(fleet.apple, at: gateways[0])
            let token = try await client.firstToken()
            client.clockOffset = 25
            let used = try client.handshake(token)
            try await Edge.expectEcho(gateways[0].open(used))
            try await server.crash()
            try await server.start()
            client.clockOffset = -20
            // The store may still be unreachable for a moment.
            for gateway in gateways {
                let here = client.moved(to: gateway)
                try await gateway.eventually("the gateway issues again") {
                    try await here.token(nonce: here.challenge()).status == 200
                }
            }
            client.clockOffset = 25
            for gateway in gateways {
                // A gateway that had it in its own memory says that it was used.
                let answer = try await gateway.refusal(used)
                let isKnown = answer.code == "use_dpop_nonce" || answer.code == "invalid_dpop_proof"
                #expect(answer.status == 401 && isKnown, "\(answer)")
            }
            let demand = try await gateways[1].refusal(client.handshake(token))
            expectRefusal(demand, 401, "use_dpop_nonce")
            let nonce = try #require(demand["dpop-nonce"])
            let holder = client
            for gateway in gateways {
                try await gateway.eventually("the gateway knows its keys again") {
                    let other = try holder.handshake(token, serverNonce: nonce)
                    if case .open = try await gateway.attempt(other) { return true } else { return false }
                }
            }
            let fresh = try client.handshake(token, serverNonce: nonce)
            try await Edge.expectEcho(gateways[0].open(fresh))
            for gateway in gateways { expectRefusal(try await gateway.refusal(fresh), 401, "invalid_dpop_proof") }
        }

        /// The tables are on the disk as they were when the newest counters were still in memory.
        @Test func `after a crash under load no earlier assertion is admitted`() async throws {
            var options = PostgresServer.Options()
            options.settings = ["synchronous_commit = off", "wal_writer_delay = 10000"]
            let server = try await PostgresServer.launch(options)
            let fleet = try await FleetBench(on: server)
            let gateways = try await fleet.gateways(4)
            var devices: [TestDevice] = []
            for index in 0..<8 { devices.append(try await fleet.apple.enrolledDevice(at: gateways[index % 4])) }
            let used = Awaited<[Handshake]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, device) in devices.enumerated() {
                    group.addTask {
                        for round in 0... {
                            let gateway = gateways[(index + round) % 4]
                            guard let handshake = try? await device.handshake(at: gateway) else { return }
                            guard case .open = try await gateway.attempt(handshake) else { return }
                            used.update { $0.append(handshake) }
                        }
                    }
                }
                try await used.wait(for: "some admissions", within: .seconds(60)) { $0.count >= 100 ? () : nil }
                try await server.crash()
                try await group.waitForAll()
            }
            try await server.start()
            for gateway in gateways {
                try await gateway.eventually("the gateway admits again") {
                    if case .open = try await gateway.attempt(devices[0].handshake(at: gateway)) { true } else { false }
                }
            }
            let all = used.update { $0 }
            #expect(all.count >= 100)
            for (index, handshake) in all.enumerated() {
                expectRefusal(try await gateways[index % 4].refusal(handshake), 401, "invalid_nonce")
            }
        }

        @Test func `a cut and silent network holds up neither sessions nor refusals`() async throws {
            var options = PostgresServer.Options()
            options.listens = true
            let server = try await PostgresServer.launch(options)
            let relay = try TCPRelay(to: server.port)
            let fleet = try await FleetBench(on: server, through: [relay.port])
            let gateway = try await fleet.gateway { $0.setting("STORE_TIMEOUT_MS", "500") }
            let device = try await fleet.apple.enrolledDevice(at: gateway)
            let socket = try await gateway.open(device.handshake(at: gateway))
            relay.silence(true)
            expectRefusal(try await gateway.refusal(device.handshake(at: gateway)), 503, "store_unavailable")
            try await Edge.expectEcho(socket)
            relay.cut()
            relay.silence(false)
            try await gateway.eventually("the gateway admits again") {
                if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
            }
            try await Edge.expectEcho(socket)
        }

        /// Each answer takes 300 ms or more: one after another on each of the 4 connections they would exceed the time
        /// limit of 2 s.
        @Test func `with a slow database admissions wait for their own answer only`() async throws {
            var options = PostgresServer.Options()
            options.listens = true
            let server = try await PostgresServer.launch(options)
            let relay = try TCPRelay(to: server.port)
            let fleet = try await FleetBench(on: server, through: [relay.port])
            let gateway = try await fleet.gateway()
            var devices: [TestDevice] = []
            for _ in 0..<32 { devices.append(try await fleet.apple.enrolledDevice(at: gateway)) }
            let socket = try await gateway.open(devices[0].handshake(at: gateway))
            relay.delay(milliseconds: 150)
            try await withThrowingTaskGroup(of: TestWebSocket.Outcome.self) { group in
                for device in devices {
                    group.addTask { try await gateway.attempt(device.handshake(at: gateway)) }
                }
                try await Edge.expectEcho(socket)
                expectRefusal(try await gateway.refusal(Handshake()), 401, "app_auth_required")
                for try await attempt in group {
                    guard case .open = attempt else {
                        Issue.record("not admitted: \(attempt)")
                        continue
                    }
                }
            }
        }

        /// What it doesn't know yet of development tokens it would refuse with 503.
        @Test func `a gateway with a slow database knows the fleet's changes as soon as it says that it listens`()
            async throws
        {
            var options = PostgresServer.Options()
            options.listens = true
            let server = try await PostgresServer.launch(options)
            let relay = try TCPRelay(to: server.port)
            let fleet = try await FleetBench(on: server, through: [relay.port])
            let issued = try await GatewayProcess.run(["dev-tokens", "issue", "--name", "edge"], fleet.storeSettings)
            let first = try await fleet.gateway { $0.setting("ALLOW_DEV_TOKENS", "true") }
            let client = try TokenClient.simulator(at: first)
            let token = try await client.token(for: try #require(issued.outputLines.first, "\(issued)"))
            relay.delay(milliseconds: 50)
            let second = try await fleet.gateway { $0.setting("ALLOW_DEV_TOKENS", "true") }
            let handshake = try Handshake().adding([
                "Authorization": "Bearer \(token)", "DPoP": client.proof("GET", "http://localhost/"),
            ])
            try await Edge.expectEcho(second.open(handshake))
        }

        @Test func `the fleet goes on with a standby that takes over`() async throws {
            var options = PostgresServer.Options()
            options.listens = true
            let primary = try await PostgresServer.launch(options)
            var following = options
            following.primary = primary
            let standby = try await PostgresServer.launch(following)
            let fleet = try await FleetBench(on: primary, through: [primary.port, standby.port])
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let used = try await device.handshake(at: gateways[0])
            let socket = try await gateways[0].open(used)
            try await gateways[0].eventually("the standby has the key") {
                let rows = try standby.session(database: fleet.database).run(
                    "SELECT count(*) FROM portcullis.device_key", [])
                return try rows.only().integer(0) == 1
            }
            try await primary.crash()
            _ = try standby.session().run("SELECT pg_promote()", [])
            for gateway in gateways {
                try await gateway.eventually("the gateway admits again", within: .seconds(40)) {
                    if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
                }
                expectRefusal(try await gateway.refusal(used), 401, "invalid_nonce")
            }
            try await Edge.expectEcho(socket)
        }

        @Test func `with a full disk nobody registers, and revocations stay`() async throws {
            guard PostgresServer.canMount else { return }
            var options = PostgresServer.Options()
            options.diskMegabytes = 64
            let server = try await PostgresServer.launch(options)
            let fleet = try await FleetBench(on: server)
            let gateway = try await fleet.gateway()
            let device = try await fleet.apple.enrolledDevice(at: gateway)
            let socket = try await gateway.open(device.handshake(at: gateway))
            try server.fillDisk()
            // Rows of a table's last page still have room.
            var refused: ReceivedAnswer?
            for _ in 0..<200 where refused == nil {
                let answer = try await fleet.apple.device().register(at: gateway)
                if answer.status != 200 { refused = answer }
            }
            expectRefusal(try #require(refused), 503, "attestation_unavailable")
            try await Edge.expectEcho(socket)
            server.emptyDisk()
            try await gateway.eventually("devices register again") {
                try await fleet.apple.device().register(at: gateway).status == 200
            }
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
        }

        @Test func `a frozen database holds up neither sessions nor refusals`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateway = try await fleet.gateway { $0.setting("STORE_TIMEOUT_MS", "500") }
            let device = try await fleet.apple.enrolledDevice(at: gateway)
            let socket = try await gateway.open(device.handshake(at: gateway))
            let waiting = try await device.handshake(at: gateway)
            server.signal(SIGSTOP)
            async let answer = gateway.refusal(waiting)
            try await Edge.expectEcho(socket)
            expectRefusal(try await gateway.refusal(Handshake()), 401, "app_auth_required")
            expectRefusal(try await answer, 503, "store_unavailable")
            server.signal(SIGCONT)
            try await gateway.eventually("the gateway admits again") {
                if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
            }
            try await Edge.expectEcho(socket)
        }
    }
}
