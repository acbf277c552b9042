package import AppAttest
package import KeyStore

/// What App Attest needs, in the gate and for registrations. There is one of these in a process: both use the same challenges.
package struct AppAttestSettings: Sendable {
    package var challenges: Challenges
    package var registry: any ImmediateKeyRegistry
    package var scope: AttestationScope
    package var assertionVerifier: AssertionVerifier
    /// Decoded. Longer ones aren't even decoded.
    package var maximumAssertionBytes: Int

    package init(
        challenges: Challenges, registry: any ImmediateKeyRegistry, scope: AttestationScope,
        assertionVerifier: AssertionVerifier, maximumAssertionBytes: Int = CBORLimits.maximumAssertionBytes
    ) {
        self.challenges = challenges
        self.registry = registry
        self.scope = scope
        self.assertionVerifier = assertionVerifier
        self.maximumAssertionBytes = maximumAssertionBytes
    }
}

/// What is configured now. A key that was attested for something else isn't accepted any more.
package struct AttestationScope: Sendable {
    /// By the bytes of their text form: texts that are equal to Swift may have others.
    private let apps: [[UInt8]: AppID]
    private let environments: Set<AttestationEnvironment>
    /// SHA-256 of the root certificate.
    private let trustRoot: [UInt8]

    package init(policy: AttestationPolicy, trustRoot: TrustRoot) {
        apps = Dictionary(policy.apps.map { (Array($0.description.utf8), $0) }) { first, _ in first }
        environments = policy.environments
        self.trustRoot = trustRoot.fingerprint
    }

    /// The app that `key` was attested for; `nil` if its app, its environment or its trust root isn't configured.
    func app(of key: KeyStanding) -> AppID? {
        guard let app = apps[Array(key.app.utf8)],
            let environment = AttestationEnvironment(rawValue: key.environment), environments.contains(environment),
            key.trustRoot == trustRoot
        else { return nil }
        return app
    }
}
