import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Requests about one account, or one passkey, at the same time.
    @Suite struct AccountRaceTests {
        @Test func `one credential that is registered twice at once begins one account`() async throws {
            let bench = try await AccountEdge.start()
            for _ in 0..<10 {
                let player = try Player(at: bench.gateway)
                var attempts: [(String, PlayerProof)] = []
                for _ in 0..<2 {
                    let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
                    let challenge = try Player.options(await player.creationOptions(showing: proof))
                    attempts.append((try player.registration(over: challenge), proof))
                }
                let answers = try await answers(
                    attempts.map { body, proof in
                        { try await player.register(body, showing: proof) }
                    })
                #expect(answers.map(\.status).sorted() == [200, 409], "\(answers)")
                #expect(answers.compactMap(\.code) == ["passkey_taken"])
                var owner = player
                owner.account = answers.compactMap { $0.field("account") }.first
                try await owner.signIn()
                #expect(try await owner.belongings().account == owner.account)
            }
        }

        @Test func `a sign-in and a challenge are used once, whoever comes first`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            for _ in 0..<5 {
                let body = try await player.freshPasskey()
                let holder = player
                let answers = try await answers((0..<4).map { _ in { try await holder.authenticate(body) } })
                #expect(answers.map(\.status).sorted() == [200, 401, 401, 401], "\(answers)")
            }
        }

        /// Whatever the sign-in is answered: afterwards its token is worth nothing, and its session ends.
        @Test func `a sign-in against the removal of its passkey leaves nobody signed in`() async throws {
            let bench = try await AccountEdge.start()
            var keeper = try await bench.signedIn()
            for _ in 0..<5 {
                var player = try Player(at: bench.gateway)
                expectSuccess(try await keeper.add(player.passkey))
                player.account = keeper.account
                try await player.signIn()
                let use = try await player.freshPasskey()
                let fresh = try await keeper.freshPasskey()
                let (signing, removing) = (player, keeper)
                let path = "/api/auth/passkey/" + player.passkeyID
                let answers = try await answers([
                    { try await signing.authenticate(use) },
                    { try await removing.ask("DELETE", path, #"{"passkey":\#(fresh)}"#) },
                ])
                #expect(answers.contains { $0.text == #"{"removed":true}"# }, "\(answers)")
                let signedIn = answers.compactMap { $0.field("accessToken") }
                let refused = answers.compactMap(\.code)
                #expect(signedIn.count + refused.count == 1 && Set(refused).isSubset(of: ["unknown_credential"]))
                let earlier = try #require(player.token)
                for token in signedIn + [earlier] {
                    player.token = token
                    expectRefusal(try await player.ask("GET", "/api/auth/devices"), 401, "invalid_token")
                    expectRefusal(try await bench.gateway.refusal(player.handshake()), 401, "invalid_token")
                }
            }
            #expect(try await keeper.belongings().passkeys == [keeper.passkeyID])
        }

        @Test func `a session that opens against the removal of its account doesn't outlive it`() async throws {
            let bench = try await AccountEdge.start()
            for _ in 0..<5 {
                var player = try await bench.signedIn()
                let handshake = try player.handshake()
                let fresh = try await player.freshPasskey()
                async let attempt = bench.gateway.attempt(handshake)
                expectSuccess(try await player.ask("DELETE", "/api/auth/account", #"{"passkey":\#(fresh)}"#))
                switch try await attempt {
                case .open(let socket): try await Edge.expectBlocked(socket)
                case .refused(let answer, _): expectRefusal(answer, 401, "invalid_token")
                }
            }
        }

        private func answers(
            _ requests: [@Sendable () async throws -> ReceivedAnswer]
        ) async throws -> [ReceivedAnswer] {
            try await withThrowingTaskGroup(of: ReceivedAnswer.self) { group in
                for request in requests { group.addTask { try await request() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }
}
