#if canImport(CryptoKit) && canImport(Security)
    import CryptoKit
    public import Foundation
    import Security

    /// Device keys in the Secure Enclave. They never leave it, and can be used after the first unlock.
    public struct SecureEnclaveKeys: DeviceKeyMaker {
        private struct Key: DeviceKey {
            let key: SecureEnclave.P256.Signing.PrivateKey

            var publicKey: Data { key.publicKey.x963Representation }

            func sign(_ data: Data) throws -> Data { try key.signature(for: data).rawRepresentation }
        }

        /// False in most simulators.
        public static var isAvailable: Bool { SecureEnclave.isAvailable }

        public init() {}

        public func makeKey() throws -> (key: any DeviceKey, restoration: Data) {
            let access = SecAccessControlCreateWithFlags(
                nil, kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, .privateKeyUsage, nil)
            guard let access else { throw KeychainError(status: errSecParam) }
            let key = try SecureEnclave.P256.Signing.PrivateKey(accessControl: access)
            return (Key(key: key), key.dataRepresentation)
        }

        public func restoreKey(_ restoration: Data) throws -> any DeviceKey {
            do { return Key(key: try SecureEnclave.P256.Signing.PrivateKey(dataRepresentation: restoration)) } catch {
                let reason = error as NSError
                throw DeviceKeyGone(domain: reason.domain, code: reason.code) ?? error
            }
        }
    }
#endif
