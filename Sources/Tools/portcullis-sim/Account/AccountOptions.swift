import AppAttest
import ArgumentParser
import DeviceSimulation
import Foundation
import Logging
import PortcullisClient
import Reactors

/// The player: an authenticator in its file, and perhaps a device.
struct AccountOptions: ParsableArguments {
    @OptionGroup var gateway: DeviceCommand.GatewayOptions

    @Option(help: "The file of the player's virtual authenticator, private keys included; made if it isn't there.")
    var authenticator: String

    @Option(help: "A device's file, private keys included; made if it isn't there.")
    var device: String?

    @OptionGroup var tokens: TokenOptions

    @Option(parsing: .unconditional, help: "The passkey that the player chooses; by default the newest.")
    var with: String?

    @Option(
        help: """
            Keeps the refresh token in the authenticator's file, sealed under this PIN. For tests: other users of the machine see the PIN, \
            and the file has the wrapping key, too.
            """)
    var pin: String?

    func validate() throws {
        if let with, Data(base64URL: with) == nil { throw ValidationError("--with takes the identifier of a passkey.") }
    }

    /// - Parameter other: makes the new passkeys; nil: the player's own.
    func player(makingIn other: AccountFile? = nil) throws -> SimulatedPlayer {
        let reactor = Reactor(index: 0, logger: Logger(label: "account"))
        try reactor.start()
        let file = try AccountFile(at: authenticator, choosing: with.flatMap { Data(base64URL: $0) }.map(Array.init))
        var platform = ClientPlatform(
            transport: SimulatedTransport(http: try gateway.requests(on: reactor)),
            passkeys: TwoAuthenticators(using: file, making: other ?? file), secrets: file)
        if let pin { platform.unlock = SimulatedUnlock(pin: pin) }
        let known = try device.map {
            try DeviceFile.keptOrNew(
                at: $0, team: tokens.team ?? "ABCDE12345", bundle: tokens.bundle ?? "com.example.mud")
        }
        if let known {
            // Files of earlier versions get their device key here.
            try known.save()
            let authority = try tokens.authority.map(StateFile.authority)
            platform.appAttest = SimulatedAttestation(known, by: authority)
            platform.deviceKeys = SimulatedDeviceKeys(rawRepresentation: known.device.proofKey.rawRepresentation)
            platform.secrets = SimulatedSecrets(file: file, knownKey: known.wasKept ? known.device.keyIDText : nil)
        }
        do {
            let configuration = try GateConfiguration(
                baseURLString: try gateway.url().text, teamIdentifier: known?.device.app.teamID ?? "ABCDE12345",
                bundleIdentifier: known?.device.app.bundleID ?? "com.example.mud", developmentToken: tokens.devToken)
            let client = GateClient(configuration: configuration, platform: platform)
            return SimulatedPlayer(
                accounts: client.accounts, file: file, reactor: reactor, gateway: try gateway.url())
        } catch let error as GateError {
            throw SimOutput.failure("\(error).")
        }
    }
}

/// A player may sign in with one authenticator, and make the next passkey in another.
private struct TwoAuthenticators: PasskeyAuthenticator {
    private let used, maker: AccountFile

    init(using used: AccountFile, making maker: AccountFile) { (self.used, self.maker) = (used, maker) }

    func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential { try await maker.create(options) }

    func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential { try await used.get(options) }
}

/// A player, as the client library sees one.
struct SimulatedPlayer {
    let accounts: PlayerAccounts
    let file: AccountFile
    let reactor: Reactor
    let gateway: WebURL

    /// - Throws: an `ExitCode`, after the reason was reported.
    func make(
        _ passkey: (PlayerAccounts) async throws -> RegisteredPasskey
    ) async throws {
        do {
            let made = try await passkey(accounts)
            SimOutput.say("account \(made.account)\npasskey \(made.passkey)")
        } catch let error as GateError {
            try file.forgetMade()
            throw failure(error)
        }
    }

    /// - Throws: an `ExitCode`, after the reason was reported.
    func signedIn<Value>(_ body: (PlayerAccounts) async throws -> Value) async throws -> Value {
        try await use { accounts in
            if try await accounts.authenticationState() != .authenticated { try await accounts.signIn() }
            return try await body(accounts)
        }
    }

    /// - Throws: an `ExitCode`, after the reason was reported.
    func use<Value>(_ body: (PlayerAccounts) async throws -> Value) async throws -> Value {
        do { return try await body(accounts) } catch let error as GateError { throw failure(error) }
    }

    private func failure(_ error: GateError) -> any Error {
        if case .network(.other(let reason)) = error { return gateway.unreachable(reason) }
        if let refusal = error.refusal {
            return GatewayRefusal.failure(
                status: refusal.status, code: error.code, text: refusal.message, requestID: refusal.requestId)
        }
        return SimOutput.failure("\(error).", hint: Self.hint(for: error))
    }

    private static func hint(for error: GateError) -> String? {
        switch error {
        case .appAttestUnsupported:
            "give --device and --authority, so that the device can register; or --dev-token, --ticket or --open."
        case .passkey(.cancelled): "the authenticator has no such passkey: portcullis-sim account sign-up makes one."
        case .passkey(.known): "the authenticator has a passkey of the account: give another --authenticator."
        default: nil
        }
    }
}
