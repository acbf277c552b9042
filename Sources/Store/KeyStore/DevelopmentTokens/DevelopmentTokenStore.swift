/// The development tokens of a store, by their hashes. A call may wait for a disk, a lock or another machine.
///
/// The synchronous part is `ImmediateDevelopmentTokenRegistry`: it needs no token, only the identifier of its grant.
package protocol DevelopmentTokenStore: Sendable {
    /// Redeems a token for a device, as `DevelopmentTokenRegistry.redeem`. A refused use doesn't count against the
    /// device limit.
    ///
    /// - Parameters:
    ///   - device: the thumbprint of the device's key, 32 bytes.
    ///   - time: Unix milliseconds.
    func redeem(
        _ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus

    /// As in `ImmediateDevelopmentTokenRegistry`.
    func status(ofGrant id: String, at time: Int64) async throws(KeyRegistryError) -> GrantStatus

    /// Stores a new token; durable when it returns. Tokens that ended more than
    /// ``DevelopmentTokenLimits/keptMilliseconds`` ago are removed.
    func issue(_ token: DevelopmentToken) async throws(KeyRegistryError) -> DevelopmentTokenIssue

    /// All tokens, in the order in which they were issued. There are never more than
    /// ``DevelopmentTokenLimits/maximumTokens``.
    func developmentTokens() async throws(KeyRegistryError) -> [DevelopmentToken]

    /// Revokes a token permanently; durable when it returns. False if it is unknown. A second revocation changes
    /// nothing.
    func revoke(_ id: DevelopmentTokenID, at time: Int64) async throws(KeyRegistryError) -> Bool
}

package enum DevelopmentTokenLimits {
    /// Tokens in a store, valid or not.
    package static let maximumTokens = 1_000
    /// How long an ended token stays in the list: 90 days.
    package static let keptMilliseconds: Int64 = 90 * 86_400_000
}
