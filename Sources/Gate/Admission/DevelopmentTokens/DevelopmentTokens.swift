package import KeyStore

/// The development tokens of a gateway. It hashes what clients present; the store has only hashes.
package struct DevelopmentTokens: DevelopmentTokenRegistry, ImmediateDevelopmentTokenRegistry {
    private static let deviceBytes = 32

    private let store: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry

    package init(_ store: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry) { self.store = store }

    package func redeem(
        _ token: String, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        guard device.count == Self.deviceBytes, let token = DevelopmentTokenText(presented: token) else {
            return .refused(.unknown)
        }
        return try await store.redeem(token.hash, by: device, at: time)
    }

    package func status(ofGrant id: String, at time: Int64) throws(KeyRegistryError) -> GrantStatus {
        try store.status(ofGrant: id, at: time)
    }
}
