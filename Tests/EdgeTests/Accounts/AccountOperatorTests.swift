import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis accounts` and `portcullis ticket --account` at a running gateway.
    @Suite struct AccountOperatorTests {
        private let directory: TemporaryDirectory
        private var socket: String { directory.file("control.sock") }

        init() throws { directory = try TemporaryDirectory() }

        private func start(_ manner: TargetServer.Manner = .echo) async throws -> AccountEdge {
            try await AccountEdge.start(manner) { $0.setting("CONTROL_SOCKET_PATH", socket) }
        }

        private func run(_ bench: AccountEdge, _ arguments: String...) async throws -> ChildOutput {
            let settings = GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", bench.gateway.storePath)
                .setting("CONTROL_SOCKET_PATH", socket)
            return try await GatewayProcess.run(arguments, settings)
        }

        private func succeed(_ output: ChildOutput, _ line: String) {
            #expect(output.ending == .exited(0) && output.outputLines == [line], "\(output)")
            #expect(!output.errorText.contains("hasn't noticed"), "\(output)")
        }

        private func list(_ bench: AccountEdge) async throws -> [String] {
            try await run(bench, "accounts", "list").outputLines
        }

        @Test func `closing an account closes the sessions of its passkeys and devices, and it stays listed`()
            async throws
        {
            let bench = try await start()
            var player = try await bench.signedIn()
            let account = try #require(player.account)
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            expectSuccess(try await player.join(device))
            let sockets = [try await player.open(), try await bench.gateway.open(device.handshake(at: bench.gateway))]
            for socket in sockets { try await Edge.expectEcho(socket) }
            #expect(
                try await list(bench).first?.hasPrefix("\(account)  open  began by device  passkeys 1  devices 1")
                    == true)
            succeed(try await run(bench, "accounts", "close", account), "closed \(account)")
            for socket in sockets { try await Edge.expectBlocked(socket) }
            expectRefusal(try await bench.gateway.refusal(player.handshake()), 403, "device_blocked")
            expectRefusal(try await player.trySignIn(), 403, "device_blocked")
            #expect(try await list(bench).first?.hasPrefix("\(account)  closed  ") == true)
            // The device is itself, without the account.
            try await Edge.expectEcho(bench.gateway.open(device.handshake(at: bench.gateway)))
        }

        @Test func `forgetting an account closes its sessions, and nothing of it is left`() async throws {
            let bench = try await start()
            let (player, other) = (try await bench.signedIn(), try await bench.signedIn())
            let account = try #require(player.account)
            let (socket, second) = (try await player.open(), try await other.open())
            succeed(try await run(bench, "accounts", "forget", account), "forgot \(account)")
            try await Edge.expectBlocked(socket)
            try await Edge.expectEcho(second)
            var gone = player
            expectRefusal(try await gone.trySignIn(), 404, "unknown_credential")
            #expect(try await list(bench).count == 1)
            for command in ["show", "close", "forget"] {
                let output = try await run(bench, "accounts", command, account)
                #expect(output.ending == .exited(1) && output.errorText.contains("no such account"), "\(output)")
            }
        }

        @Test func `a target is told the account that a device has joined`() async throws {
            let bench = try await AccountEdge.start(.scripted) { $0.setting("PROXY_PROTOCOL", "v2") }
            var player = try await bench.signedIn()
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            expectSuccess(try await player.join(device))
            let handshake = try await device.handshake(at: bench.gateway).offering("telnet")
            let socket = try await bench.gateway.open(handshake)
            try await socket.send(text: "look")
            let told: [UInt8] = [0xE1, 0, 32] + Array(try #require(player.account).utf8)
            _ = try await bench.edge.target.connection().receive(upTo: told)
        }

        // MARK: The way back

        private func ticket(_ bench: AccountEdge, _ account: String, _ options: String...) async throws -> ChildOutput {
            try await GatewayProcess.run(["ticket", "--socket", socket, "--account", account] + options)
        }

        @Test func `a player who has lost everything gets a passkey with the operator's ticket, once`() async throws {
            let bench = try await start()
            let lost = try await bench.player()
            let account = try #require(lost.account)
            let output = try await ticket(bench, account)
            #expect(output.ending == .exited(0) && output.outputLines.count == 1, "\(output)")
            let text = try #require(output.outputLines.first)
            // It opens no session, and isn't used up by trying.
            let upgrade = Handshake().path("/?ticket=" + text)
            expectRefusal(try await bench.gateway.refusal(upgrade), 403, "way_not_allowed")
            var player = try Player(at: bench.gateway)
            try await player.signUp(showing: .ticket(text))
            #expect(player.account == account)
            let again = try await player.creationOptions(showing: .ticket(text))
            expectRefusal(again, 401, "invalid_ticket")
            try await player.signIn()
            #expect(try await Set(player.belongings().passkeys) == [player.passkeyID, lost.passkeyID])
            try await Edge.expectEcho(player.open())
            let line = try await bench.gateway.auditLine("by the operator: a passkey for the account \(account)")
            #expect(!line.contains(text))
            _ = try await bench.gateway.auditLine("account", "by the operator's ticket, passkey ")
        }

        @Test func `a ticket is for an account that is there and open`() async throws {
            let bench = try await start()
            let account = try #require(try await bench.player().account)
            let several = try await ticket(bench, account, "--uses", "2")
            #expect(several.ending == .exited(64) && several.outputText.isEmpty, "\(several)")
            let issued = try #require(try await ticket(bench, account).outputLines.first)
            _ = try await run(bench, "accounts", "close", account)
            let late = try await Player(at: bench.gateway).creationOptions(showing: .ticket(issued))
            expectRefusal(late, 403, "device_blocked")
            for (name, reason) in [
                (account, "the account is closed"), (String(repeating: "0", count: 32), "there is no such account"),
                ("-h", "this is no account"),
            ] {
                let output = try await ticket(bench, name)
                #expect(output.ending == .exited(1) && output.errorText.contains(reason), "\(output)")
            }
        }

        @Test func `without accounts there is no ticket for one`() async throws {
            let edge = try await Edge.start {
                $0.setting("REQUIRE_APP_AUTH", "true").setting("CONTROL_SOCKET_PATH", socket)
            }
            let output = try await GatewayProcess.run(
                ["ticket", "--socket", socket, "--account", String(repeating: "0", count: 32)])
            #expect(output.ending == .exited(1) && output.errorText.contains("accounts are off"), "\(output)")
            try await edge.expectHealthy()
        }
    }
}
