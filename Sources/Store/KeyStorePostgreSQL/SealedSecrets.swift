import Crypto
import FoundationEssentials
package import KeyStore

/// Encrypts the secrets in a store with AES-256-GCM under keys that aren't in it: the first one seals, and all of them
/// open, so that a key can be replaced.
///
///     version (1)   key's name: 4 bytes of its SHA-256   nonce, ciphertext and tag, with the context authenticated
package struct SealedSecrets: SecretSealing {
    package static let keyBytes = 32
    package static let maximumKeys = 8
    private static let version: UInt8 = 1
    private static let headerBytes = 5

    private struct Key: Sendable {
        let name: [UInt8]
        let key: SymmetricKey
    }

    private let keys: [Key]

    /// - Returns: nil unless there are 1 to ``maximumKeys`` keys of ``keyBytes`` each.
    package init?(keys: [[UInt8]]) {
        guard (1...Self.maximumKeys).contains(keys.count), keys.allSatisfy({ $0.count == Self.keyBytes }) else {
            return nil
        }
        self.keys = keys.map { Key(name: Array(SHA256.hash(data: $0).prefix(4)), key: SymmetricKey(data: $0)) }
    }

    package func seal(_ secret: [UInt8], for context: String) throws(KeyRegistryError) -> [UInt8] {
        guard let key = keys.first,
            let box = try? AES.GCM.seal(secret, using: key.key, authenticating: Array(context.utf8)),
            let combined = box.combined
        else { throw .unavailable("a secret can't be encrypted") }
        return [Self.version] + key.name + combined
    }

    package func open(_ sealed: [UInt8], for context: String) throws(KeyRegistryError) -> [UInt8] {
        guard sealed.first == Self.version, sealed.count > Self.headerBytes else { throw Self.damage }
        let candidates = keys.filter { $0.name[...] == sealed[1..<Self.headerBytes] }
        guard !candidates.isEmpty else {
            throw .unavailable("a secret in the store is encrypted with a key that STORE_SECRETS_KEY_PATH doesn't have")
        }
        for key in candidates {
            guard let box = try? AES.GCM.SealedBox(combined: sealed.dropFirst(Self.headerBytes)),
                let secret = try? AES.GCM.open(box, using: key.key, authenticating: Array(context.utf8))
            else { continue }
            return Array(secret)
        }
        throw Self.damage
    }

    private static let damage = KeyRegistryError.unavailable("a secret in the store is damaged")
}
