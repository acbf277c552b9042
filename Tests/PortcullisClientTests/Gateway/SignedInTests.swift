import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

extension GatewayTests {
    /// Players who stay signed in, and log out.
    @Suite struct SignedInTests {
        /// A player on one device, over starts of the app.
        private struct Device {
            let stage: Stage
            let unlock: TypedPIN
            let first: Bench
            let answers = LostAnswers(to: AccountPath.refresh)

            init(_ stage: Stage, pin: String? = nil, passkeys: SimulatedPasskeys = SimulatedPasskeys()) throws {
                (self.stage, unlock) = (stage, TypedPIN(pin))
                first = try stage.bench(passkeys: passkeys, unlock: unlock, losing: answers)
            }

            var accounts: PlayerAccounts { first.client.accounts }

            /// - Parameter secrets: nil: what this device has stored.
            func restarted(_ secrets: MemorySecretStore? = nil) throws -> Bench {
                try stage.bench(
                    attest: first.attest, passkeys: first.passkeys, secrets: secrets ?? first.secrets, unlock: unlock,
                    losing: answers)
            }

            /// What a thief of everything that is stored has.
            func copy() throws -> MemorySecretStore {
                let copy = MemorySecretStore()
                for what in ["refresh-token", "device-key"] {
                    let name = StoredName.of(what, first.client.configuration)
                    try copy.write(name, try #require(try first.secrets.read(name)))
                }
                return copy
            }
        }

        private func signedIn(_ stage: Stage, pin: String? = nil) async throws -> Device {
            let device = try Device(stage, pin: pin)
            _ = try await device.accounts.signUp()
            try await device.accounts.signIn()
            return device
        }

        private func expectState(
            _ state: AuthenticationState, _ accounts: PlayerAccounts,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let found = try await accounts.authenticationState()
            #expect(found == state, sourceLocation: sourceLocation)
        }

        // MARK: Starts of the app

        @Test(arguments: [nil, "2468"]) func `a player stays signed in over starts of the app`(
            pin: String?
        ) async throws {
            let device = try Device(try await Stage.withAccounts { $0.setting("DPOP_NONCE", "always") }, pin: pin)
            let made = try await device.accounts.signUp()
            try await expectState(.needsSignIn(.notSignedIn), device.accounts)
            try await device.accounts.signIn()
            try await expectState(.authenticated, device.accounts)
            for _ in 0..<3 {
                let bench = try device.restarted()
                #expect(await !bench.client.accounts.isSignedIn)
                try await expectState(.authenticated, bench.client.accounts)
                try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(.account))))
                #expect(try await bench.client.accounts.account().id == made.account)
            }
            #expect(device.first.passkeys.calls == [.create, .get])
            #expect(device.unlock.prompts == (pin == nil ? [nil] : [nil, 5, 5, 5]))
        }

        @Test func `a change after a start of the app asks for the passkey alone`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            let accounts = try device.restarted().client.accounts
            let joined = try await accounts.joinDevice()
            #expect(try await accounts.account().devices.map(\.id) == [joined])
            #expect(device.first.passkeys.calls == [.create, .get, .get])
        }

        @Test func `five wrong PINs at the start ask for a sign-in, and the gate hears of none`() async throws {
            let device = try await signedIn(try await Stage.withAccounts(), pin: "2468")
            device.unlock.type("1357")
            for left in [4, 3, 2, 1, 0] {
                let accounts = try device.restarted().client.accounts
                await #expect(throws: GateError.unlock(.wrongPIN(attemptsLeft: left))) { try await accounts.account() }
            }
            device.unlock.type("2468")
            let accounts = try device.restarted().client.accounts
            try await expectState(.needsSignIn(.tooManyWrongPINs), accounts)
            await #expect(throws: GateError.signInRequired) { try await accounts.account() }
            try await accounts.signIn()
            try await expectState(.authenticated, try device.restarted().client.accounts)
        }

        @Test func `a player who chooses no PIN is signed in until the app ends`() async throws {
            let device = try Device(try await Stage.withAccounts(), pin: "2468")
            _ = try await device.accounts.signUp()
            try await device.accounts.signIn()
            // What an earlier sign-in has stored isn't used any more.
            device.unlock.fail(.cancelled)
            try await device.accounts.signIn()
            try await expectState(.authenticated, device.accounts)
            #expect(try await device.accounts.account().passkeys.count == 1)
            device.unlock.fail(nil)
            try await expectState(.needsSignIn(.notSignedIn), try device.restarted().client.accounts)
        }

        @Test func `a device that has joined signs in without a passkey, and stays signed in`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            let account = try await device.accounts.account().id
            _ = try await device.accounts.joinDevice()
            await device.accounts.signOut()
            let bench = try device.restarted()
            try await bench.client.accounts.signInWithDevice()
            #expect(try await bench.client.accounts.account().id == account)
            #expect(try await device.restarted().client.accounts.account().id == account)
            #expect(device.first.passkeys.calls == [.create, .get, .get])
            let stranger = try device.stage.bench()
            await #expect(throws: GateError.self) { try await stranger.client.accounts.signInWithDevice() }
            #expect(await !stranger.client.accounts.isSignedIn)
        }

        // MARK: Lost answers

        @Test func `a lost answer costs no sign-in`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            device.answers.lose(2)
            let accounts = try device.restarted().client.accounts
            _ = try await accounts.account()
            #expect(device.answers.lost == [200, 200])
            _ = try await device.restarted().client.accounts.account()
        }

        @Test func `an answer is lost, and the app ends: the next start goes on`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            for round in 1...2 {
                device.answers.lose(3)
                let accounts = try device.restarted().client.accounts
                await #expect(throws: GateError.network(.connectionLost)) { try await accounts.account() }
                #expect(device.answers.lost.count == 3 * round)
                try await expectState(.authenticated, accounts)
                _ = try await device.restarted().client.accounts.account()
            }
            #expect(Set(device.answers.lost) == [200] && device.first.passkeys.calls == [.create, .get])
        }

        // MARK: Log-outs

        @Test func `a log-out ends this device's sign-in and its session alone`() async throws {
            let stage = try await Stage.withAccounts()
            let device = try await signedIn(stage)
            let other = try Device(stage, passkeys: device.first.passkeys)
            try await other.accounts.signIn()
            let stolen = try device.copy()
            let player = Player(device.first.client.connect(ConnectionOptions(.account)))
            try await Stage.expectEcho(player)
            try await device.accounts.logOut()
            let end = try await player.end()
            #expect(end.cause == .blocked && end.action == .giveUp)
            for accounts in [device.accounts, try device.restarted().client.accounts] {
                try await expectState(.needsSignIn(.loggedOut), accounts)
                await #expect(throws: GateError.signInRequired) { try await accounts.account() }
                // Once more is no error.
                try await accounts.logOut()
            }
            let thief = try device.restarted(stolen).client.accounts
            await #expect(throws: GateError.signInRequired) { try await thief.account() }
            try await expectState(.needsSignIn(.ended), thief)
            _ = try await other.restarted().client.accounts.account()
        }

        @Test func `a log-out everywhere ends all sign-ins of the account`() async throws {
            let stage = try await Stage.withAccounts()
            let device = try await signedIn(stage)
            let other = try Device(stage, passkeys: device.first.passkeys)
            try await other.accounts.signIn()
            let player = Player(other.first.client.connect(ConnectionOptions(.account)))
            try await Stage.expectEcho(player)
            // Also by a refresh token alone.
            try await device.restarted().client.accounts.logOut(everywhere: true)
            #expect(try await player.end().cause == .blocked)
            await #expect(throws: GateError.signInRequired) { try await other.accounts.account() }
            try await expectState(.needsSignIn(.ended), other.accounts)
            try await expectState(.needsSignIn(.loggedOut), try device.restarted().client.accounts)
            try await other.accounts.signIn()
            _ = try await other.restarted().client.accounts.account()
        }

        // MARK: Theft

        @Test func `a thief's old token ends the sign-in of both`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            let stolen = try device.copy()
            _ = try await device.restarted().client.accounts.account()
            // The gate has seen the successor used.
            let bench = try device.restarted()
            let player = Player(bench.client.connect(ConnectionOptions(.account)))
            try await Stage.expectEcho(player)
            let thief = try device.restarted(stolen).client.accounts
            await #expect(throws: GateError.signInRequired) { try await thief.account() }
            try await expectState(.needsSignIn(.ended), thief)
            #expect(try await player.end().cause == .blocked)
            await #expect(throws: GateError.signInRequired) { try await bench.client.accounts.account() }
            let accounts = try device.restarted().client.accounts
            try await expectState(.needsSignIn(.ended), accounts)
            try await accounts.signIn()
            _ = try await device.restarted().client.accounts.account()
        }

        @Test func `without the device's key a stolen token is worth nothing, and changes nothing`() async throws {
            let device = try await signedIn(try await Stage.withAccounts())
            let stolen = try device.copy()
            try stolen.delete(StoredName.of("device-key", device.first.client.configuration))
            let thief = try device.restarted(stolen).client.accounts
            await #expect(throws: GateError.signInRequired) { try await thief.account() }
            _ = try await device.restarted().client.accounts.account()
        }
    }
}
