import DeviceSimulation
import Foundation
import PortcullisClient
import Synchronization

/// A player's passkeys, as a system keeps them and copies them to the player's other devices; with failures where a
/// test wants them.
final class SimulatedPasskeys: PasskeyAuthenticator {
    enum Call: String, Sendable { case create, get }

    private struct State: Sendable {
        var authenticator = VirtualAuthenticator()
        /// Makes the next passkeys, if it isn't the same.
        var other: VirtualAuthenticator?
        var calls: [Call] = []
        var failures: [PasskeyFailure] = []
    }

    private let state = Mutex(State())

    var calls: [Call] { state.withLock { $0.calls } }

    /// The next calls fail like this, one after the other.
    func fail(_ failures: PasskeyFailure...) { state.withLock { $0.failures += failures } }

    /// From now on another authenticator makes passkeys.
    func makeElsewhere() { state.withLock { $0.other = VirtualAuthenticator() } }

    /// From now on the player has that one only.
    func useOther() {
        state.withLock { state in
            if let other = state.other { state.authenticator = other }
            state.other = nil
        }
    }

    func create(_ options: PasskeyCreationOptions) async throws -> PasskeyCredential {
        let made = try state.withLock { state in
            try Self.note(.create, &state)
            var maker = state.other ?? state.authenticator
            let made = Result {
                try maker.create(
                    for: Array(options.userID), at: options.relyingParty, challenge: Array(options.challenge),
                    excluding: options.excluded.map(Array.init), time: Date())
            }
            if state.other != nil { state.other = maker } else { state.authenticator = maker }
            return try made.mapError { _ in PasskeyFailure.known }.get()
        }
        return PasskeyCredential(
            registration: Data(made.id), clientDataJSON: Data(made.clientDataJSON),
            attestationObject: Data(made.attestationObject))
    }

    func get(_ options: PasskeyRequestOptions) async throws -> PasskeyCredential {
        let used = try state.withLock { state in
            try Self.note(.get, &state)
            do {
                return try state.authenticator.get(
                    at: options.relyingParty, challenge: Array(options.challenge),
                    allowed: options.allowed.map(Array.init))
            } catch {
                throw PasskeyFailure.cancelled
            }
        }
        return PasskeyCredential(
            assertion: Data(used.id), clientDataJSON: Data(used.clientDataJSON),
            authenticatorData: Data(used.authenticatorData), signature: Data(used.signature),
            userHandle: Data(used.user))
    }

    private static func note(_ call: Call, _ state: inout State) throws {
        state.calls.append(call)
        if !state.failures.isEmpty { throw state.failures.removeFirst() }
    }
}
