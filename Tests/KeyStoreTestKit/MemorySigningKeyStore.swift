package import KeyStore
import Synchronization

/// The reference implementation of a store of signing keys, used in tests.
package final class MemorySigningKeyStore: SigningKeyStore {
    private struct State {
        var keys = StoredSigningKeys()
        var secrets: [String: [UInt8]] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func signingKeys() -> StoredSigningKeys { state.withLock { $0.keys } }

    package func replaceSigningKeys(_ expected: StoredSigningKeys, with keys: StoredSigningKeys) -> Bool {
        state.withLock { state in
            guard state.keys == expected else { return false }
            state.keys = keys
            return true
        }
    }

    package func secret(named name: String, creating fresh: [UInt8]) -> [UInt8] {
        state.withLock { state in
            if let known = state.secrets[name] { return known }
            state.secrets[name] = fresh
            return fresh
        }
    }
}
