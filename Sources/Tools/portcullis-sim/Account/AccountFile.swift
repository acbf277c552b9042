import DeviceSimulation
import Foundation
import PortcullisClient
import Synchronization

/// What a player's system keeps for the client library: a virtual authenticator with its passkeys, and the library's
/// own secrets. All of it is in one file, private keys included, which is written before an answer is used.
final class AccountFile: PasskeyAuthenticator, SecretStore {
    private struct State: Sendable {
        var authenticator = VirtualAuthenticator()
        var secrets: [String: Data] = [:]
        /// The passkey that was made last by this process.
        var made: [UInt8]?
    }

    private struct Saved: Codable {
        let authenticator: VirtualAuthenticator.Saved
        let secrets: [String: Data]
    }

    private let path: String
    private let chosen: [UInt8]?
    private let state: Mutex<State>

    /// - Parameters:
    ///   - path: a file that isn't there is made by the first passkey or secret.
    ///   - chosen: the passkey that the player chooses; nil: the newest.
    init(at path: String, choosing chosen: [UInt8]? = nil) throws {
        (self.path, self.chosen) = (path, chosen)
        var state = State()
        if let saved = try StateFile.read(Saved.self, path) {
            state.authenticator = try VirtualAuthenticator(restoring: saved.authenticator)
            state.secrets = saved.secrets
        }
        self.state = Mutex(state)
    }

    private func change<Value: Sendable>(_ body: (inout State) throws -> Value) throws -> Value {
        try state.withLock { state in
            let value = try body(&state)
            try StateFile.write(Saved(authenticator: state.authenticator.saved, secrets: state.secrets), path)
            return value
        }
    }

    // MARK: Passkeys

    func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential {
        try change { state in
            do {
                let made = try state.authenticator.create(
                    for: Array(options.userID), at: options.relyingParty, challenge: Array(options.challenge),
                    excluding: options.excluded.map(Array.init), time: .now)
                state.made = made.id
                return PasskeyCredential(
                    registration: Data(made.id), clientDataJSON: Data(made.clientDataJSON),
                    attestationObject: Data(made.attestationObject))
            } catch VirtualAuthenticator.Failure.excluded {
                throw PasskeyFailure.known
            }
        }
    }

    func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential {
        try change { state in
            do {
                let used = try state.authenticator.get(
                    at: options.relyingParty, challenge: Array(options.challenge),
                    allowed: options.allowed.map(Array.init), choosing: chosen)
                return PasskeyCredential(
                    assertion: Data(used.id), clientDataJSON: Data(used.clientDataJSON),
                    authenticatorData: Data(used.authenticatorData), signature: Data(used.signature),
                    userHandle: Data(used.user))
            } catch VirtualAuthenticator.Failure.noPasskey {
                throw PasskeyFailure.cancelled
            }
        }
    }

    /// The gate doesn't know a passkey, or not any more.
    func forget(_ id: [UInt8]) throws { try change { $0.authenticator.forget(id) } }

    /// The gate didn't register the passkey that was made last.
    func forgetMade() throws {
        try change { state in
            if let made = state.made { state.authenticator.forget(made) }
            state.made = nil
        }
    }

    // MARK: Secrets

    func read(_ name: String) throws -> Data? { state.withLock { $0.secrets[name] } }

    func write(_ name: String, _ value: Data) throws { try change { $0.secrets[name] = value } }

    func delete(_ name: String) throws { try change { $0.secrets[name] = nil } }
}
