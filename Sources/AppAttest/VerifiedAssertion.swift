/// A signature of an attested key over client data. Only ``AssertionVerifier`` can make one.
public struct VerifiedAssertion: Hashable, Sendable {
    /// Above the previous one. Store it before acting on the assertion, or the same assertion is good again.
    public let counter: UInt32
    /// iOS 27 and macOS 27 on: how the app was signed and distributed. See ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// iOS 27 and macOS 27 on: the app's `CFBundleVersion`.
    public let bundleVersion: String?
}
