import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Gateways that share a database act as one gate.
    @Suite struct FleetTests {
        @Test func `each gateway accepts the keys and challenges of the others`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            for (one, other) in [(0, 1), (1, 0), (1, 1)] {
                let handshake = try await device.handshake(at: gateways[one])
                try await Edge.expectEcho(gateways[other].open(handshake))
                expectRefusal(try await gateways[one].refusal(handshake), 401, "invalid_nonce")
            }
            let old = try await device.handshake(at: gateways[0], counter: 1)
            expectRefusal(try await gateways[1].refusal(old), 401, "assertion_rejected")
        }

        @Test func `of several gateways that get the same assertion one sends a 101`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(4)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            for round in 0..<20 {
                let handshake = try await device.handshake(at: gateways[round % 4])
                let admitted = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for index in 0..<12 {
                        group.addTask {
                            switch try await gateways[index % 4].attempt(handshake) {
                            case .open: return true
                            case .refused(let answer, _):
                                expectRefusal(answer, 401, "invalid_nonce")
                                return false
                            }
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(admitted == 1, "round \(round)")
            }
        }

        @Test func `a revocation at one place ends sessions at all others`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            var sockets: [TestWebSocket] = []
            for gateway in gateways { sockets.append(try await gateway.open(device.handshake(at: gateway))) }
            try fleet.change("portcullis.revoke_key(KEY, 'stolen', 1)", device.keyID)
            for socket in sockets { #expect(try await socket.closedByServer().reason == "device_blocked") }
            for gateway in gateways {
                expectRefusal(try await gateway.refusal(device.handshake(at: gateway)), 403, "key_revoked")
            }
            try fleet.change("portcullis.restore_key(KEY)", device.keyID)
            for gateway in gateways {
                try await gateway.eventually("the restored key is admitted") {
                    if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
                }
            }
            try fleet.change("portcullis.forget_key(KEY)", device.keyID)
            for gateway in gateways {
                try await gateway.eventually("the removed key is unknown") {
                    guard case .refused(let answer, _) = try await gateway.attempt(device.handshake(at: gateway))
                    else { return false }
                    return answer.code == "unknown_key"
                }
            }
        }

        @Test func `the fleet's block list excludes clients everywhere`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            var sockets: [TestWebSocket] = []
            for gateway in gateways { sockets.append(try await gateway.open(device.handshake(at: gateway))) }
            let add = ["block-list", "add", "key", device.keyID, "--reason", "a bot"]
            let added = try await GatewayProcess.run(add, fleet.settings)
            #expect(added.ending == .exited(0) && added.outputText.contains("added 1 of 1"), "\(added)")
            for socket in sockets { #expect(try await socket.closedByServer().reason == "device_blocked") }
            let late = try await fleet.gateway()
            for gateway in gateways + [late] {
                expectRefusal(try await gateway.refusal(device.handshake(at: gateway)), 403, "device_blocked")
            }
            let listed = try await GatewayProcess.run(["block-list", "list"], fleet.settings)
            #expect(
                listed.outputText.contains("key \(device.keyID)  # ") && listed.outputText.contains("a bot"),
                "\(listed)")
            let remove = ["block-list", "remove", "key", device.keyID]
            #expect(try await GatewayProcess.run(remove, fleet.settings).ending == .exited(0))
            for gateway in gateways + [late] {
                try await gateway.eventually("the client is admitted again") {
                    if case .open = try await gateway.attempt(device.handshake(at: gateway)) { true } else { false }
                }
            }
            let again = try await GatewayProcess.run(remove, fleet.settings)
            #expect(again.ending == .exited(1) && again.errorText.contains("none of it is on"), "\(again)")
        }

        @Test func `gateways and commands reach the database over TLS, and no other server`() async throws {
            let certificates = try PostgresCertificates(name: "localhost")
            var options = PostgresServer.Options()
            (options.listens, options.certificates) = (true, certificates)
            options.access = ["local all all trust", "hostssl all all 127.0.0.1/32 trust"]
            let server = try await PostgresServer.launch(options)
            let fleet = try await FleetBench(on: server, through: [server.port], authority: certificates.authority)
            let gateway = try await fleet.gateway()
            let device = try await fleet.apple.enrolledDevice(at: gateway)
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
            let checked = try await GatewayProcess.run(["store", "check"], fleet.storeSettings)
            #expect(checked.outputText.contains("ok: transport: TLSv1.3"), "\(checked)")

            let stranger = try PostgresCertificates(name: "localhost")
            let other = try await FleetBench(
                on: server, through: [server.port], authority: stranger.authority, migrates: false)
            for command in [["store", "check"], ["store", "migrate"], ["keys", "list"], ["fleet", "status"]] {
                let refused = try await GatewayProcess.run(command, other.settings)
                #expect(refused.ending != .exited(0), "\(command): \(refused)")
                let text = refused.outputText + refused.errorText
                #expect(text.contains("certificate verify failed"), "\(command): \(refused)")
            }
        }

        /// The feed tells each change once: what couldn't be used has to be read again.
        @Test func `a change that couldn't be read at first isn't lost`() async throws {
            let fleet = try await FleetBench()
            let gateway = try await fleet.gateway()
            let device = try await fleet.apple.enrolledDevice(at: gateway)
            let socket = try await gateway.open(device.handshake(at: gateway))
            // Once the gateway has heard of one change it doesn't read everything any more.
            let other = try await fleet.apple.enrolledDevice(at: gateway)
            let first = try await gateway.open(other.handshake(at: gateway))
            try fleet.change("portcullis.revoke_key(KEY, 'stolen', 1)", other.keyID)
            #expect(try await first.closedByServer().reason == "device_blocked")
            let session = try fleet.server.session(database: fleet.database)
            try session.run("ALTER TABLE portcullis.block RENAME TO elsewhere")
            try fleet.change("portcullis.note(4, ''::bytea), portcullis.revoke_key(KEY, 'stolen', 1)", device.keyID)
            try await gateway.errorLine("revocations can't be looked up")
            try session.run("ALTER TABLE portcullis.elsewhere RENAME TO block")
            #expect(try await socket.closedByServer().reason == "device_blocked")
        }

        @Test func `the fleet's block list takes only what gateways understand`() async throws {
            let fleet = try await FleetBench()
            let directory = try TemporaryDirectory()
            let good = try directory.write("# scanners\naddress 203.0.113.0/24\naddress  2001:db8::/32\n", to: "good")
            let bad = try directory.write("address 203.0.113.0/24\nplanet mars\n", to: "bad")
            func run(_ arguments: String...) async throws -> ChildOutput {
                try await GatewayProcess.run(["block-list"] + arguments, fleet.settings)
            }
            let refused = try await run("add", "--file", bad)
            #expect(refused.ending == .exited(1) && refused.errorText.contains("line 2"), "\(refused)")
            #expect(try await run("list").outputText.isEmpty)
            #expect(try await run("add", "--file", good).outputText.contains("added 2 of 2"))
            #expect(try await run("add", "address", "2001:db8::/32").outputText.contains("added 0 of 1"))
            let lines = try await run("list").outputText.split(separator: "\n")
            #expect(lines.count == 2 && lines.first?.hasPrefix("address 2001:db8::/32  # ") == true, "\(lines)")
            #expect(try await run("add").ending != .exited(0))
        }

        @Test func `a device has no more sessions in the fleet than at one gateway`() async throws {
            let fleet = try await FleetBench()
            var gateways: [GatewayProcess] = []
            for _ in 0..<2 {
                gateways.append(try await fleet.gateway { $0.setting("MAX_SESSIONS_PER_DEVICE", "2") })
            }
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let first = try await gateways[0].open(device.handshake(at: gateways[0]))
            let second = try await gateways[1].open(device.handshake(at: gateways[1]))
            try await fleet.eventuallyCounts(2)
            for gateway in gateways {
                let third = try await gateway.open(device.handshake(at: gateway))
                #expect(try await third.closedByServer().code == 1013)
            }
            for socket in [first, second] { try await Edge.expectEcho(socket) }
            _ = try await first.close()
            try await fleet.eventuallyCounts(1)
            // The place is free again, and the next one is one too many again.
            let next = try await gateways[1].open(device.handshake(at: gateways[1]))
            try await fleet.eventuallyCounts(2)
            let last = try await gateways[0].open(device.handshake(at: gateways[0]))
            #expect(try await last.closedByServer().code == 1013)
            try await Edge.expectEcho(next)
        }

        @Test func `a session without its client makes room for one at another gateway`() async throws {
            let fleet = try await FleetBench()
            var gateways: [GatewayProcess] = []
            for _ in 0..<2 {
                gateways.append(try await fleet.gateway { $0.setting("MAX_SESSIONS_PER_DEVICE", "1") })
            }
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let first = try await gateways[0].open(device.handshake(at: gateways[0]))
            _ = try await TypedSession.connect(first)
            try await fleet.eventuallyCounts(1)
            await first.connection.reset()
            try await fleet.eventuallyCounts(1, "detached")
            let second = try await gateways[1].open(device.handshake(at: gateways[1]))
            try await fleet.eventuallyCounts(0, "detached")
            try await Edge.expectEcho(second)
            try await fleet.eventuallyCounts(1)
        }

        @Test func `a ticket of one gateway admits once at another`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(2)
            let device = try await fleet.apple.enrolledDevice(at: gateways[0])
            let headers = try device.assertionHeaders(nonce: try await gateways[0].challenge())
            let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            let answer = try await gateways[0].request(
                "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\(lines)\r\n")
            let ticket = try #require(answer.strings?["ticket"], "\(answer)")
            let handshake = Handshake().path("/?ticket=" + ticket)
            try await Edge.expectEcho(gateways[1].open(handshake))
            for gateway in gateways {
                expectRefusal(try await gateway.refusal(handshake), 401, "invalid_ticket")
            }
        }

        @Test func `access tokens, their signing keys and proofs are the fleet's`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await fleet.gateways(2)
            let client = try TokenClient(fleet.apple, at: gateways[0])
            let token = try await client.firstToken()
            let elsewhere = client.moved(to: gateways[1])
            let handshake = try elsewhere.handshake(token)
            try await Edge.expectEcho(gateways[1].open(handshake))
            // The same proof again.
            for gateway in gateways {
                let answer = try await gateway.refusal(handshake)
                #expect(answer.status == 401, "\(answer)")
            }
            try await Edge.expectEcho(gateways[0].open(client.handshake(token)))
            // A token from there, for a challenge from here.
            let other = try TokenClient.accessToken(in: await elsewhere.token(nonce: client.challenge()))
            try await Edge.expectEcho(gateways[0].open(client.handshake(other)))
        }

        @Test func `a gateway that starts anew knows what the fleet has issued`() async throws {
            let fleet = try await FleetBench()
            let first = try await fleet.gateway()
            let device = try await fleet.apple.enrolledDevice(at: first)
            let used = try await device.handshake(at: first)
            _ = try await first.open(used)
            let unused = try await device.handshake(at: first)
            try await first.killNow()
            let second = try await fleet.gateway()
            expectRefusal(try await second.refusal(used), 401, "invalid_nonce")
            try await Edge.expectEcho(second.open(unused))
        }

        @Test func `without the fleet's tables the start is refused`() async throws {
            let fleet = try await FleetBench(migrates: false)
            let output = try await GatewayProcess.run(["serve"], fleet.settings)
            #expect(output.ending == .exited(1), "\(output)")
            #expect(output.errorText.contains("portcullis store migrate"), "\(output)")
        }
    }
}
