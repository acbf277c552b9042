/// What a server stores of a credential: the credential record (Web Authentication Level 3, section 4).
///
/// The first one comes from a ``VerifiedRegistration``, each later one from a ``VerifiedAuthentication``.
public struct CredentialRecord: Hashable, Sendable {
    /// At most ``WebAuthnLimits/maximumCredentialIDBytes``.
    public let id: [UInt8]
    public let publicKey: CredentialPublicKey
    /// The signature counter. Many authenticators leave it at 0.
    public let signCount: UInt32
    /// Whether the credential may be backed up, as passkeys that are synchronised are.
    public let isBackupEligible: Bool
    /// Whether it is.
    public let isBackedUp: Bool
    /// `uvInitialized`: whether the authenticator verified the user at the registration.
    public let isUserVerificationInitialized: Bool

    public init(
        id: [UInt8], publicKey: CredentialPublicKey, signCount: UInt32, isBackupEligible: Bool, isBackedUp: Bool,
        isUserVerificationInitialized: Bool
    ) {
        (self.id, self.publicKey, self.signCount) = (id, publicKey, signCount)
        (self.isBackupEligible, self.isBackedUp) = (isBackupEligible, isBackedUp)
        self.isUserVerificationInitialized = isUserVerificationInitialized
    }
}
