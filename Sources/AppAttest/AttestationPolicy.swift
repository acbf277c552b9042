/// The conditions under which an attestation is accepted.
public struct AttestationPolicy: Sendable {
    /// The apps that may register a key. An empty list accepts nothing.
    public var apps: [AppID]
    /// The environments that may register a key. An empty set accepts nothing.
    public var environments: Set<AttestationEnvironment>
    /// The validation categories of iOS 27 and macOS 27 that may register a key; nil ignores them. If set, an attestation without a
    /// category (all those from before iOS 27) is refused.
    ///
    /// Observed: 1 executed by the system, 2 TestFlight, 3 development, 4 App Store, 5 enterprise or ad hoc,
    /// 6 Developer ID, 10 other.
    public var validationCategories: Set<UInt32>?

    public init(
        apps: [AppID], environments: Set<AttestationEnvironment> = [.production],
        validationCategories: Set<UInt32>? = nil
    ) {
        self.apps = apps
        self.environments = environments
        self.validationCategories = validationCategories
    }
}
