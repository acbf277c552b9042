import EdgeTestKit
import Foundation
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
