import Crypto
import Foundation
import PortcullisClient
import Synchronization

/// A device with a wrapping key, and a player who types a PIN; with failures where a test wants them.
final class TypedPIN: LocalUnlock {
    private struct State: Sendable {
        var pin: String?
        var failure: UnlockFailure?
        var prompts: [Int?] = []
    }

    private let state: Mutex<State>

    /// - Parameter pin: nil: biometrics are enough.
    init(_ pin: String?) { state = Mutex(State(pin: pin)) }

    /// How many attempts each dialog has shown.
    var prompts: [Int?] { state.withLock { $0.prompts } }

    func type(_ pin: String?) { state.withLock { $0.pin = pin } }

    /// From now on nothing is unlocked.
    func fail(_ failure: UnlockFailure?) { state.withLock { $0.failure = failure } }

    private func check() throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    func makeKey() async throws -> Data {
        try check()
        return Data(repeating: 7, count: 32)
    }

    func secret(of restoration: Data, salt: Data) async throws -> Data {
        try check()
        return Data(SHA256.hash(data: restoration + salt))
    }

    func pin(attemptsLeft: Int?) async throws -> String? {
        state.withLock { state in
            state.prompts.append(attemptsLeft)
            return state.pin
        }
    }
}
