import DeviceSimulation
import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Accounts of a fleet: each gateway knows what the others have issued, used and removed.
    @Suite struct AccountFleetTests {
        private func gateways(
            _ count: Int, of fleet: FleetBench, _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> [GatewayProcess] {
            var gateways: [GatewayProcess] = []
            for _ in 0..<count {
                gateways.append(try await fleet.gateway { change($0.plainAccounts().setting("REACTOR_THREADS", 1)) })
            }
            return gateways
        }

        @Test func `options, registration, sign-in and removal are each at another gateway`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(4, of: fleet)
            let device = try await fleet.apple.enrolledDevice(at: gateways[3])
            let proof = PlayerProof.assertion(device)
            var player = try Player(at: gateways[0])
            let creation = try Player.options(await player.creationOptions(showing: proof))
            player = player.moved(to: gateways[1])
            let registration = try player.registration(over: creation)
            let registered = try await player.register(registration, showing: proof)
            expectSuccess(registered)
            player.account = registered.field("account")
            for gateway in gateways {
                let again = try await player.moved(to: gateway).register(registration, showing: proof)
                expectRefusal(again, 401, "passkey_rejected")
            }
            let request = try Player.options(await player.requestOptions())
            player = player.moved(to: gateways[2])
            let answer = try await player.authenticate(player.authentication(over: request))
            expectSuccess(answer)
            player.token = answer.field("accessToken")
            var sockets: [TestWebSocket] = []
            for gateway in gateways { sockets.append(try await player.moved(to: gateway).open()) }
            for socket in sockets { try await Edge.expectEcho(socket) }
            var there = player.moved(to: gateways[3])
            expectSuccess(try await there.join(device))
            #expect(try await player.moved(to: gateways[0]).belongings().devices == [device.keyID])
            expectSuccess(try await there.delete("account"))
            for socket in sockets { try await Edge.expectBlocked(socket) }
            for gateway in gateways {
                var here = player.moved(to: gateway)
                expectRefusal(try await gateway.refusal(here.handshake()), 401, "invalid_token")
                expectRefusal(try await here.trySignIn(), 404, "unknown_credential")
            }
        }

        @Test func `of several gateways that get the same sign-up or sign-in one confirms it`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(4, of: fleet) {
                $0.setting("ACCOUNT_SIGN_UP", "open").setting("SIGN_UPS_PER_HOUR", 10_000)
            }
            for round in 0..<5 {
                let newcomer = try Player(at: gateways[round % 4])
                let creation = try Player.options(await newcomer.creationOptions(showing: .nothing))
                let registration = try newcomer.registration(over: creation)
                let made = try await answers(gateways) {
                    try await newcomer.moved(to: $0).register(registration, showing: .nothing)
                }
                #expect(made.map(\.status).sorted() == [200, 401, 401, 401], "\(made)")
                var player = newcomer
                player.account = made.compactMap { $0.field("account") }.first
                let use = try await player.freshPasskey()
                let holder = player
                let signedIn = try await answers(gateways) { try await holder.moved(to: $0).authenticate(use) }
                #expect(signedIn.map(\.status).sorted() == [200, 401, 401, 401], "\(signedIn)")
            }
        }

        @Test func `one credential that is registered at two gateways at once begins one account`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(2, of: fleet) {
                $0.setting("ACCOUNT_SIGN_UP", "open").setting("SIGN_UPS_PER_HOUR", 10_000)
            }
            for _ in 0..<10 {
                let player = try Player(at: gateways[0])
                var bodies: [Int: String] = [:]
                for gateway in gateways {
                    let options = try await player.moved(to: gateway).creationOptions(showing: .nothing)
                    bodies[gateway.port] = try player.registration(over: Player.options(options))
                }
                let attempts = bodies
                let answers = try await answers(gateways) {
                    try await player.moved(to: $0).register(attempts[$0.port] ?? "", showing: .nothing)
                }
                #expect(answers.map(\.status).sorted() == [200, 409], "\(answers)")
                #expect(answers.compactMap(\.code) == ["passkey_taken"])
            }
        }

        @Test func `a ticket of an account that anyone made leads no further at another gateway`() async throws {
            let fleet = try await FleetBench()
            let route =
                "players=127.0.0.1:\(fleet.target.port),admit=passkey;any=127.0.0.1:\(fleet.target.port),admit=any"
            let gateways = try await gateways(2, of: fleet) {
                $0.setting("ACCOUNT_SIGN_UP", "open").setting("MUD_ROUTES", route)
            }
            var player = try Player(at: gateways[0])
            try await player.signUp(showing: .nothing)
            try await player.signIn()
            let ticket = try #require(try await player.ask("POST", "/ticket").strings?["ticket"])
            for path in ["/", "/mud/any"] {
                for gateway in gateways {
                    let refused = try await gateway.refusal(Handshake().path(path + "?ticket=" + ticket))
                    expectRefusal(refused, 403, "way_not_allowed")
                }
            }
            let socket = try await gateways[1].open(Handshake().path("/mud/players?ticket=" + ticket))
            try await Edge.expectEcho(socket)
            expectSuccess(try await player.delete("account"))
            try await Edge.expectBlocked(socket)
        }

        @Test func `while the database is stopped nobody signs in, and sessions go on`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateways = try await gateways(2, of: fleet)
            var player = try Player(at: gateways[0])
            let proof = PlayerProof.assertion(try await fleet.apple.enrolledDevice(at: gateways[0]))
            try await player.signUp(showing: proof)
            try await player.signIn()
            let socket = try await player.moved(to: gateways[1]).open()
            let fresh = try await player.freshPasskey()
            let change = try await player.freshPasskey()
            try await server.crash()
            for gateway in gateways {
                let answer = try await player.moved(to: gateway).authenticate(fresh)
                expectRefusal(answer, 503, "store_unavailable")
                #expect(answer["retry-after"].flatMap { Int($0) }.map { (1...10).contains($0) } == true, "\(answer)")
            }
            let removal = try await player.ask("DELETE", "/api/auth/account", #"{"passkey":\#(change)}"#)
            expectRefusal(removal, 503, "store_unavailable")
            try await Edge.expectEcho(socket)
            try await server.start()
            let away = player
            for gateway in gateways {
                var here = away.moved(to: gateway)
                try await gateway.eventually("the player signs in again") { try await here.trySignIn().status == 200 }
                try await here.signIn()
                #expect(try await here.belongings().passkeys == [player.passkeyID])
            }
            try await Edge.expectEcho(socket)
        }

        private func answers(
            _ gateways: [GatewayProcess], _ ask: @escaping @Sendable (GatewayProcess) async throws -> ReceivedAnswer
        ) async throws -> [ReceivedAnswer] {
            try await withThrowingTaskGroup(of: ReceivedAnswer.self) { group in
                for gateway in gateways { group.addTask { try await ask(gateway) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }
}
