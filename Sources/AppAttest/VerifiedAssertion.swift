/// An attested key's verified signature over client data. Only ``AssertionVerifier`` can create one.
public struct VerifiedAssertion: Hashable, Sendable {
    /// Higher than the previous one. Store it before acting on the assertion; otherwise the same assertion can be replayed.
    public let counter: UInt32
    /// From iOS 27 and macOS 27: how the app was signed and distributed. See ``AttestationPolicy/validationCategories``.
    public let validationCategory: UInt32?
    /// From iOS 27 and macOS 27: the app's `CFBundleVersion`.
    public let bundleVersion: String?
}
