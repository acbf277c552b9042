import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

extension GatewayTests {
    /// Players with passkeys.
    @Suite struct AccountTests {
        @Test(arguments: SessionDialect.allCases)
        func `a player signs up with a device, signs in and plays`(dialect: SessionDialect) async throws {
            let stage = try await Stage.withAccounts { $0.setting("DPOP_NONCE", "always") }
            let bench = try stage.bench()
            let accounts = bench.client.accounts
            let made = try await accounts.signUp(label: "my phone")
            #expect(await !accounts.isSignedIn)
            try await accounts.signIn()
            #expect(await accounts.isSignedIn)
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(.account, dialect: dialect))))
            let account = try await accounts.account()
            #expect(account.id == made.account && account.passkeys.map(\.id) == [made.passkey])
            #expect(account.passkeys[0].label == "my phone" && account.passkeys[0].isBackedUp)
            #expect(account.devices.isEmpty && account.passkeys[0].lastUsedAt != nil)
            let ticket = try await accounts.tokens.performRequest(path: "ticket", method: .post)
            #expect(ticket.status == 200)
            #expect(bench.passkeys.calls == [.create, .get])
        }

        @Test func `a passkey comes to another device, which joins and leaves`() async throws {
            let stage = try await Stage.withAccounts()
            let first = try stage.bench()
            let made = try await first.client.accounts.signUp()
            let other = try stage.bench(passkeys: first.passkeys)
            let accounts = other.client.accounts
            try await accounts.signIn()
            let device = try await accounts.joinDevice(label: "tablet")
            let joined = try await accounts.account()
            #expect(joined.id == made.account)
            #expect(joined.devices.map(\.id) == [device] && joined.devices.map(\.label) == ["tablet"])
            // Once more is no error.
            #expect(try await accounts.joinDevice() == device)
            try await accounts.removeDevice(device)
            #expect(try await accounts.account().devices.isEmpty)
            await expectRefusal("not_found") { try await accounts.removeDevice(device) }
        }

        @Test func `a device that has joined brings a player without passkeys back`() async throws {
            let stage = try await Stage.withAccounts()
            let bench = try stage.bench()
            let accounts = bench.client.accounts
            let made = try await accounts.signUp()
            try await accounts.signIn()
            _ = try await accounts.joinDevice()
            let lost = try stage.bench(attest: bench.attest, secrets: bench.secrets)
            #expect(try await lost.client.accounts.signUp().account == made.account)
            try await lost.client.accounts.signIn()
            #expect(try await lost.client.accounts.account().passkeys.count == 2)
        }

        @Test func `a further passkey is made, and the session of a removed one ends`() async throws {
            let stage = try await Stage.withAccounts()
            let bench = try stage.bench()
            let (accounts, passkeys) = (bench.client.accounts, bench.passkeys)
            let first = try await accounts.signUp()
            try await accounts.signIn()
            await #expect(throws: GateError.passkey(.known)) { try await accounts.addPasskey() }
            passkeys.makeElsewhere()
            let second = try await accounts.addPasskey(label: "key ring")
            #expect(second.account == first.account && second.passkey != first.passkey)
            let player = Player(bench.client.connect(ConnectionOptions(.account)))
            try await Stage.expectEcho(player)
            passkeys.useOther()
            try await accounts.removePasskey(first.passkey)
            let end = try await player.end()
            #expect(end.cause == .blocked && end.action == .giveUp)
            // The token was the removed passkey's.
            await #expect(throws: GateError.signInRequired) { try await accounts.account() }
            try await accounts.signIn()
            #expect(try await accounts.account().passkeys.map(\.id) == [second.passkey])
        }

        @Test func `a removed account is gone`() async throws {
            let stage = try await Stage.withAccounts()
            let bench = try stage.bench()
            let accounts = bench.client.accounts
            _ = try await accounts.signUp()
            try await accounts.signIn()
            try await accounts.removeAccount()
            #expect(await !accounts.isSignedIn)
            await expectRefusal("unknown_credential") { try await accounts.signIn() }
        }

        // MARK: Proofs

        @Test func `an account begins with a ticket, a development token or a client certificate`() async throws {
            let certificates = try await DevCertificates.shared()
            let stage = try await Stage.withAccounts {
                $0.setting("ALLOW_DEV_TOKENS", "true").clientCA(certificates)
            }
            let ticket = try await stage.ticket()
            let token = try await stage.gateway.issueDevelopmentToken().token
            let folder = URL(fileURLWithPath: certificates.clientCA).deletingLastPathComponent()
            var trust = stage.trust
            trust.clientCertificate = ClientCertificate(
                pkcs12: try Data(contentsOf: folder.appendingPathComponent("client.p12")))
            let players: [(Bench, AccountProof)] = [
                (try stage.bench(), .ticket(ticket)), (try stage.bench(developmentToken: token), .device),
                (try stage.bench(trust: trust), .clientCertificate),
            ]
            for (bench, proof) in players {
                _ = try await bench.client.accounts.signUp(by: proof)
                try await bench.client.accounts.signIn()
                try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(.account))))
                #expect(bench.attest.calls.isEmpty)
            }
            // A ticket begins one account.
            let again = try stage.bench().client.accounts
            await expectRefusal("invalid_ticket") { try await again.signUp(by: .ticket(ticket)) }
        }

        @Test func `without a proof an account begins only where that is open`() async throws {
            let proven = try await Stage.withAccounts()
            let stranger = try proven.bench().client.accounts
            await expectRefusal("app_auth_required") { try await stranger.signUp(by: .nothing) }
            let open = try await Stage.withAccounts { $0.setting("ACCOUNT_SIGN_UP", "open") }
            let bench = try open.bench()
            _ = try await bench.client.accounts.signUp(by: .nothing)
            try await bench.client.accounts.signIn()
            // The route doesn't name these accounts.
            let end = try await Player(bench.client.connect(ConnectionOptions(.account))).end()
            #expect(end.error?.code == "way_not_allowed" && end.action == .giveUp)
        }

        @Test func `an operator's ticket for the account brings a player back who lost everything`() async throws {
            let stage = try await Stage.withAccounts()
            let made = try await stage.bench().client.accounts.signUp()
            let ticket = try await stage.ticket(account: made.account)
            let bench = try stage.bench()
            let recovered = try await bench.client.accounts.recover(ticket: ticket, label: "new phone")
            #expect(recovered.account == made.account && recovered.passkey != made.passkey)
            try await bench.client.accounts.signIn()
            #expect(try await bench.client.accounts.account().passkeys.count == 2)
            let thief = try stage.bench().client.accounts
            await expectRefusal("invalid_ticket") { try await thief.recover(ticket: ticket) }
        }

        @Test func `where accounts are off there are none`() async throws {
            let stage = try await Stage()
            let accounts = try stage.bench().client.accounts
            await expectRefusal("not_found") { try await accounts.signIn() }
        }

        // MARK: Sessions

        @Test func `a session waits until its player has signed in again`() async throws {
            let port = try FrontProxy.freePort()
            let relay = try await BreakableRelay.start(to: port)
            let stage = try await Stage.withAccounts(publicPort: relay.port, port: port)
            let bench = try stage.bench(port: relay.port)
            let accounts = bench.client.accounts
            _ = try await accounts.signUp()
            try await accounts.signIn()
            let player = Player(bench.client.connect(ConnectionOptions(.account)))
            try await Stage.expectEcho(player)
            await accounts.signOut()
            await relay.cut()
            relay.mend()
            try await player.wait(for: "a wish for a passkey") { seen in
                seen.states.contains {
                    if case .waiting(_, .signInRequired?) = $0 { true } else { false }
                }
            }
            try await accounts.signIn()
            player.connection.reconnectNow()
            try await player.connected(times: 2)
            try await Stage.expectEcho(player, "again")
        }

        private func expectRefusal<Value>(
            _ code: String, sourceLocation: SourceLocation = #_sourceLocation,
            _ body: () async throws -> Value
        ) async {
            do {
                _ = try await body()
                Issue.record("no refusal", sourceLocation: sourceLocation)
            } catch {
                #expect(GateError(wrapping: error).code == code, "\(error)", sourceLocation: sourceLocation)
            }
        }
    }
}
