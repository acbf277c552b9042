package import AppAttest
package import KeyStore
import WireText

/// The settings of App Attest for the gate and registrations. A process has one instance, because both use the same
/// challenges.
package struct AppAttestSettings: Sendable {
    package var challenges: Challenges
    package var registry: DeviceRegistry
    package var scope: AttestationScope
    package var assertionVerifier: AssertionVerifier
    /// Size after decoding. Longer ones aren't decoded at all.
    package var maximumAssertionBytes: Int
    /// `ASSERTION_WINDOW`: every use of a key's counter marks it, and requests that are signed one by one use it.
    package var window = CounterWindow.strict

    package init(
        challenges: Challenges, registry: any ImmediateKeyRegistry, scope: AttestationScope,
        assertionVerifier: AssertionVerifier, maximumAssertionBytes: Int = CBORLimits.maximumAssertionBytes
    ) {
        self.init(
            challenges: challenges, devices: .immediate(registry), scope: scope,
            assertionVerifier: assertionVerifier, maximumAssertionBytes: maximumAssertionBytes)
    }

    /// - Parameter challenges: of the same fleet, if there is one.
    package init(
        challenges: Challenges, devices registry: DeviceRegistry, scope: AttestationScope,
        assertionVerifier: AssertionVerifier, maximumAssertionBytes: Int = CBORLimits.maximumAssertionBytes
    ) {
        self.challenges = challenges
        self.registry = registry
        self.scope = scope
        self.assertionVerifier = assertionVerifier
        self.maximumAssertionBytes = maximumAssertionBytes
    }

    /// `nil`: this gateway is alone.
    var fleet: Fleet? {
        guard case .shared(let fleet) = registry else { return nil }
        return fleet
    }

    /// A fleet's refuses every use of a challenge that isn't the fleet's.
    var store: GateStore { GateStore(devices: registry) }
}

/// Where the gate finds the devices' keys.
package enum DeviceRegistry: Sendable {
    /// Of one gateway: it answers at once, on the reactor.
    case immediate(any ImmediateKeyRegistry)
    /// Of a fleet: it answers later.
    case shared(Fleet)
}

/// The current configuration. Keys attested for another app, environment or root are no longer accepted.
package struct AttestationScope: Sendable {
    /// Keyed by UTF-8 bytes, because Swift strings with different bytes can be equal.
    private let apps: [[UInt8]: AppID]
    /// For recognising hashes.
    let sortedApps: [AppID]
    private let environments: Set<AttestationEnvironment>
    /// SHA-256 of the root certificate.
    private let trustRoot: [UInt8]

    package init(policy: AttestationPolicy, trustRoot: TrustRoot) {
        apps = Dictionary(policy.apps.map { (Array($0.description.utf8), $0) }) { first, _ in first }
        sortedApps = apps.values.sorted { $0.description < $1.description }
        environments = policy.environments
        self.trustRoot = trustRoot.fingerprint
    }

    /// The app that `key` was attested for; `nil` if its app, its environment or its trust root isn't configured.
    func app(of key: KeyStanding) -> AppID? {
        guard let app = apps[Array(key.app.utf8)],
            let environment = AttestationEnvironment(word: key.environment), environments.contains(environment),
            key.trustRoot == trustRoot
        else { return nil }
        return app
    }

    /// Why ``app(of:)`` has none for a key.
    func mismatch(of key: KeyStanding) -> FailedCheck {
        if apps[Array(key.app.utf8)] == nil {
            return FailedCheck(
                .keyScope, expected: sortedApps.map(\.description).joined(separator: " or "),
                received: "a key that was attested for \(key.app)")
        }
        guard key.trustRoot != trustRoot else {
            return FailedCheck(
                .keyScope, expected: "a key of the environment \(environmentNames)", received: key.environment)
        }
        return FailedCheck(
            .keyScope, expected: "a key attested under the root SHA-256 \(Hexadecimal.encode(trustRoot))",
            received: "SHA-256 \(Hexadecimal.encode(key.trustRoot))")
    }

    private var environmentNames: String {
        AttestationEnvironment.allCases.filter(environments.contains).map(\.rawValue).joined(separator: " or ")
    }
}

extension FailedCheck {
    static func unregistered(_ id: KeyID) -> FailedCheck {
        FailedCheck(.keyRegistered, expected: "a key that is registered here", received: id.base64)
    }

    static func counterStored(_ counter: UInt32, stored: UInt32) -> FailedCheck {
        FailedCheck(.counterStored, expected: "a counter above \(stored), the last one", received: "\(counter)")
    }
}
