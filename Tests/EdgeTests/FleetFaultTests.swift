import EdgeTestKit
import Foundation
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
