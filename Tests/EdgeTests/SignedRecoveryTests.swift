import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Whether a client that recovers by the answers' words does so, and never runs into its circuit breaker by the
    /// gateway's doing.
    @Suite struct SignedRecoveryTests {
        private let apple: SimulatedApple
        private let url = "https://api.example.com/preferences"

        init() throws { apple = try SimulatedApple() }

        private func start(_ settings: [String: String] = [:]) async throws -> (GatewayProcess, SignedClient) {
            let edge = try await Edge.start { base in
                settings.reduce(
                    base.appAttest(apple).setting("SIGNED_REQUESTS", "on").setting("AUTHZ_ADMIT", "token+signed")
                        .setting("ADMIN_BIND", "127.0.0.1:0")
                        // All failures come from one address.
                        .setting("FAILED_UPGRADES_PER_MINUTE", "1000000")
                        .setting("PUBLIC_ORIGIN", "http://localhost")
                ) { $0.setting($1.key, $1.value) }
            }
            return (edge.gateway, try SignedClient(apple, at: edge.gateway))
        }

        /// As a proxy that sends no body asks.
        private func ask(_ gateway: GatewayProcess, _ fields: [String: String]) async throws -> ReceivedAnswer {
            try await gateway.ask(question(fields))
        }

        private func question(_ fields: [String: String]) -> String {
            "GET /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                + SignedClient.lines(fields) + "\r\n"
        }

        private func request(
            _ gateway: GatewayProcess, _ client: SignedClient
        ) async throws -> (answer: SignedAnswer, attempts: Int) {
            try await client.perform {
                SignedAnswer(asked: try await ask(gateway, client.fields("PUT", url)))
            }
        }

        // MARK: key mismatch

        @Test func `a counter that is far too high at a registration brings one new key`() async throws {
            let (gateway, client) = try await start()
            #expect(try await client.register().status == 201)
            let first = client.device.keyID
            let refused = try await client.registerOnce(counter: 1_000_002)
            expectRefusal(refused, 401, "key_mismatch")
            #expect(refused.errorText == "app attest key mismatch")
            let line = try await gateway.auditLine("\"check\":\"counter_rise\"")
            #expect(line.contains("\"key_mismatch\"") && line.contains(first), "\(line)")
            // The client goes on with the counter that its device has.
            #expect(try await client.register().status == 201)
            #expect(client.rotations == 1 && client.device.keyID != first)
        }

        @Test func `a counter that is far too high at a service strands a client until it registers`() async throws {
            let (gateway, client) = try await start()
            #expect(try await client.register().status == 201)
            let first = client.device.keyID
            let outcome = try await client.perform {
                SignedAnswer(
                    asked: try await ask(gateway, client.fields("PUT", url, counter: 1_000_002)))
            }
            #expect(outcome.answer.status == 401 && outcome.answer.text == "app attest key mismatch")
            #expect(outcome.attempts == 1 && client.isStranded)
            try await gateway.auditLine("\"authorization\"", "\"counter_rise\"", first)
            #expect(try await client.register().status == 201)
            #expect(try await request(gateway, client).answer.status == 204)
            #expect(client.rotations == 0)
        }

        @Test func `a counter just within the limit is one of the device's own`() async throws {
            let (gateway, client) = try await start()
            #expect(try await client.register().status == 201)
            let answer = try await ask(gateway, client.fields("PUT", url, counter: 1_000_001))
            #expect(answer.status == 204, "\(answer)")
        }

        // MARK: 428

        @Test func `a key that a service doesn't know costs eight requests and one new key`() async throws {
            let (gateway, client) = try await start()
            #expect(try await client.register().status == 201)
            _ = try await gateway.keys("forget", client.device.keyID)
            let lost = try await request(gateway, client)
            #expect(lost.answer.status == 428 && lost.answer.text == "device requires re-attestation")
            #expect(lost.attempts == SignedClient.attempts && !client.isStranded)
            // 400 attestation payload required, then the new key.
            #expect(try await client.register().status == 201)
            #expect(client.rotations == 1)
            #expect(try await request(gateway, client).answer.status == 204)
        }

        @Test func `a key of an app that isn't configured any more is refused with 428, also at a registration`()
            async throws
        {
            let (gateway, client) = try await start()
            #expect(try await client.register().status == 201)
            try await gateway.reload(gateway.settings.setting("APPATTEST_BUNDLE_ID", "com.example.other"))
            let refused = try await client.registerOnce()
            expectRefusal(refused, 428, "unknown_key")
            #expect(refused.errorText == "device requires re-attestation")
            #expect(try await request(gateway, client).answer.status == 428)
            // A new key of the same app is of no use, and the words don't invite another one.
            let last = try await client.register()
            expectRefusal(last, 401, "attestation_rejected")
            #expect(last.errorText == "invalid attestation payload" && client.rotations == 1)
            try await gateway.reload(gateway.settings)
            #expect(try await client.register().status == 201)
            #expect(client.rotations == 1)
        }

        // MARK: Challenges

        @Test func `a challenge that has expired is fetched again, and the key stays`() async throws {
            let (gateway, client) = try await start(["CHALLENGE_TTL_SECONDS": "5"])
            #expect(try await client.register().status == 201)
            // Of a key that isn't registered: nothing spends the challenge, so only its age can change the answer.
            let stranger = try SignedClient(apple, at: gateway)
            let stale = try await stranger.fields("PUT", url)
            #expect(try await ask(gateway, stale)["x-refusal-code"] == "unknown_key")
            let connection = try await RawConnection.open(port: gateway.internalPort())
            try await gateway.eventually("the challenge expires") {
                try await connection.send(question(stale))
                return try await connection.answer()["x-refusal-code"] == "invalid_nonce"
            }
            // The stored next challenge is as old.
            let late = try await client.registerOnce()
            expectRefusal(late, 401, "invalid_nonce")
            #expect(late.errorText == "invalid or expired challenge")
            #expect(try await client.register().status == 200)
            #expect(client.rotations == 0)
        }

        @Test func `without a challenge a client gives up, and rotates nothing`() async throws {
            let (_, client) = try await start(["CHALLENGES_PER_MINUTE": "1"])
            _ = try await client.challenge()
            await #expect(throws: (any Error).self) { try await client.register() }
            #expect(client.rotations == 0)
        }

        // MARK: 404, and the circuit breaker

        @Test func `a device that isn't registered unregisters with 404, which recovers nothing`() async throws {
            let (_, client) = try await start()
            for _ in 0..<3 { expectRefusal(try await client.unregister(), 404, "unknown_key") }
            #expect(client.rotations == 0)
        }

        @Test func `kills, reloads and new starts never open the circuit breaker`() async throws {
            let (first, client) = try await start()
            var gateway = first
            #expect(try await client.register().status == 201)
            for round in 0..<6 {
                switch round % 3 {
                case 0:
                    try await gateway.killNow()
                    gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                case 1: try await gateway.reload(gateway.settings.setting("ASSERTION_WINDOW", "\(round)"))
                default:
                    _ = try await gateway.stop()
                    gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                }
                client.move(to: gateway)
                // The challenge that is stored may be of another process: then the next attempt has a new one.
                var status = try await client.register().status
                if status == 401 { status = try await client.register().status }
                #expect(status == 200, "round \(round)")
                let outcome = try await request(gateway, client)
                #expect(outcome.answer.status == 204 && outcome.attempts == 1, "round \(round)")
            }
            #expect(client.rotations == 0)
        }

        // MARK: Kills in the middle

        /// Kills the gateway when the key is marked and not yet removed, and starts it again.
        ///
        /// - Returns: nil if the device was gone first.
        private func killed(_ gateway: GatewayProcess, whileErasing client: SignedClient) async throws
            -> GatewayProcess?
        {
            let ending = Task { try? await client.unregister() }
            try await gateway.eventually("the erasure begins") {
                let shown = try await gateway.keys("show", client.device.keyID)
                return shown.ending != .exited(0) || shown.outputText.contains("(its erasure has begun)")
            }
            try await gateway.killNow()
            _ = await ending.value
            let next = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            client.move(to: next)
            let shown = try await next.keys("show", client.device.keyID)
            guard shown.outputText.contains("(its erasure has begun)") else {
                _ = try await next.stop()
                return nil
            }
            return next
        }

        @Test(arguments: [true, false])
        func `after a kill in an unregistration a device goes on with it, or gets a new key`(asksAgain: Bool)
            async throws
        {
            for _ in 0..<10 {
                let (first, client) = try await start()
                #expect(try await client.register().status == 201)
                guard let gateway = try await killed(first, whileErasing: client) else { continue }
                let device = client.device.keyID
                if asksAgain {
                    #expect(try await client.unregister().status == 200)
                    expectRefusal(try await client.unregister(), 404, "unknown_key")
                    #expect(try await gateway.keys("show", device).ending == .exited(1))
                    #expect(client.rotations == 0)
                } else {
                    #expect(try await client.register().status == 201)
                    #expect(client.rotations == 1 && client.device.keyID != device)
                    #expect(try await request(gateway, client).answer.status == 204)
                }
                return
            }
            Issue.record("the gateway was never killed between the two steps")
        }

        /// What registrations and upgrades wait for.
        @Test func `an unregistration that waits for sessions to close isn't a pending registration`() async throws {
            for _ in 0..<10 {
                let (gateway, client) = try await start()
                #expect(try await client.register().status == 201)
                let ending = Task { try await client.unregister().status }
                try await gateway.auditLine("\"unregistered\"", client.device.keyID)
                try await gateway.eventually("its place is free") {
                    try await gateway.ask("GET /metrics HTTP/1.1\r\nHost: portcullis\r\n\r\n").text
                        .contains("portcullis_registrations_pending 0\n")
                }
                let shown = try await gateway.keys("show", client.device.keyID)
                #expect(try await ending.value == 200)
                if shown.outputText.contains("(its erasure has begun)") { return }
            }
            Issue.record("it was never seen to wait")
        }

        @Test func `after a kill no counter passes twice, answered or not, in any place of the window`() async throws {
            let (first, client) = try await start()
            var gateway = first
            #expect(try await client.register().status == 201)
            for round in 0..<5 {
                let counters = (UInt32(round * 40 + 10)..<UInt32(round * 40 + 40)).reversed()
                var requests: [(counter: UInt32, fields: [String: String])] = []
                for counter in counters {
                    requests.append((counter, try await client.fields("PUT", url, counter: counter)))
                }
                let answered = try await answered(requests, by: gateway, killingAfter: 2 + round * 6)
                #expect(answered.count >= 2 + round * 6)
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                client.move(to: gateway)
                for counter in counters {
                    let again = try await decided(gateway, client, counter)
                    #expect(
                        [204, 401].contains(again.status) && !(answered.contains(counter) && again.status == 204),
                        "\(counter): \(again)")
                    let third = try await decided(gateway, client, counter)
                    #expect(third.status == 401, "\(counter): \(third)")
                }
            }
        }

        /// A disk that is busy decides nothing.
        private func decided(
            _ gateway: GatewayProcess, _ client: SignedClient, _ counter: UInt32
        ) async throws -> ReceivedAnswer {
            var answer = try await ask(gateway, client.fields("PUT", url, counter: counter))
            for _ in 0..<20 where answer["x-refusal-status"] == "503" {
                answer = try await ask(gateway, client.fields("PUT", url, counter: counter))
            }
            return answer
        }

        /// The counters of the requests that were answered with a yes before the gateway was killed.
        private func answered(
            _ requests: [(counter: UInt32, fields: [String: String])], by gateway: GatewayProcess,
            killingAfter count: Int
        ) async throws -> Set<UInt32> {
            try await withThrowingTaskGroup(of: UInt32?.self) { group in
                for request in requests {
                    group.addTask {
                        let answer = try? await ask(gateway, request.fields)
                        return answer?.status == 204 ? request.counter : nil
                    }
                }
                var answered: Set<UInt32> = []
                for try await counter in group {
                    guard let counter else { continue }
                    answered.insert(counter)
                    if answered.count == count { try await gateway.killNow() }
                }
                return answered
            }
        }

        @Test func `the window goes on after a restart`() async throws {
            let (first, client) = try await start()
            var gateway = first
            #expect(try await client.register().status == 201)
            for counter in [UInt32(20), 12, 15] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 204)
            }
            _ = try await gateway.stop()
            gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            client.move(to: gateway)
            for counter in [UInt32(20), 12, 15] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 401)
            }
            for counter in [UInt32(13), 19, 14] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 204)
            }
        }

        @Test(arguments: [("ASSERTION_WINDOW", "0"), ("SIGNED_REQUESTS", "off")], [true, false])
        func `what lies before a window that was off for a while has no place in it`(
            switchedOff: (name: String, value: String), byReload: Bool
        ) async throws {
            let (first, client) = try await start()
            var gateway = first
            let settings = gateway.settings
            #expect(try await client.register().status == 201)
            for counter in [UInt32(20), 12] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 204)
            }
            for next in [settings.setting(switchedOff.name, switchedOff.value), settings] {
                if byReload {
                    try await gateway.reload(next)
                } else {
                    _ = try await gateway.stop()
                    gateway = try await GatewayProcess.start(next, in: gateway.directory)
                }
            }
            client.move(to: gateway)
            for counter in [UInt32(13), 19, 12] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 401)
            }
            for counter in [UInt32(23), 21] {
                #expect(try await ask(gateway, client.fields("PUT", url, counter: counter)).status == 204)
            }
            #expect(try await ask(gateway, client.fields("PUT", url, counter: 19)).status == 401)
        }
    }
}
