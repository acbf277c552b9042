#if canImport(Security)
    public import Foundation
    import Security

    /// The keychain. Its items can be read after the first unlock, and stay on this device.
    public struct Keychain: SecretStore {
        private let service: String
        private let accessGroup: String?

        /// - Parameters:
        ///   - service: names the items of this library among the app's.
        ///   - accessGroup: shares the items among apps and extensions of one team; nil: only this app has them.
        public init(service: String = "portcullis", accessGroup: String? = nil) {
            (self.service, self.accessGroup) = (service, accessGroup)
        }

        public func read(_ name: String) throws -> Data? {
            var query = query(name)
            query[kSecReturnData as String] = true
            var item: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &item)
            guard status != errSecItemNotFound else { return nil }
            try check(status)
            return item as? Data
        }

        public func write(_ name: String, _ value: Data) throws {
            let status = SecItemUpdate(query(name) as CFDictionary, [kSecValueData as String: value] as CFDictionary)
            guard status == errSecItemNotFound else { return try check(status) }
            var item = query(name)
            item[kSecValueData as String] = value
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            try check(SecItemAdd(item as CFDictionary, nil))
        }

        public func delete(_ name: String) throws {
            let status = SecItemDelete(query(name) as CFDictionary)
            if status != errSecItemNotFound { try check(status) }
        }

        private func query(_ name: String) -> [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: service,
                kSecAttrAccount as String: name, kSecUseDataProtectionKeychain as String: true,
            ]
            if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
            return query
        }

        private func check(_ status: OSStatus) throws {
            guard status == errSecSuccess else { throw KeychainError(status: status) }
        }
    }

    /// What the Security framework answered. `errSecInteractionNotAllowed` means: not before the first unlock.
    struct KeychainError: Error, CustomStringConvertible {
        let status: OSStatus

        var description: String { "OSStatus \(status)" }
    }
#endif
