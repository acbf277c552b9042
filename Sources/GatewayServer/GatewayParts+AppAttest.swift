import Admission
import AppAttest
import KeyStore
import KeyStoreSQLite
import Reactors
import Relay

extension GatewayParts {
    /// What App Attest stands on: one set of challenges and one store for the gate and for registration.
    struct AppAttestParts {
        let store: SQLiteKeyRegistry
        let settings: AppAttestSettings
        let services: AttestationServices
    }

    /// - Returns: nil where no app is configured.
    static func appAttest(_ configuration: GatewayConfiguration) throws(GatewayError) -> AppAttestParts? {
        guard let attestation = configuration.appAttest else { return nil }
        let root = try trustRoot(attestation.customRoot)
        let store = try openStore(
            configuration.keyStore, reactors: configuration.process.reactorThreads ?? Cores.count)
        let policy = AttestationPolicy(
            apps: attestation.apps, environments: attestation.environments,
            validationCategories: attestation.validationCategories)
        let limits = configuration.limits
        let challenges = Challenges(
            epoch: MonotonicTime(nanoseconds: Reactor.monotonicNow),
            timeToLive: .seconds(limits.challengeLifetimeSeconds), maximumSpent: limits.maximumSpentChallenges)
        let settings = AppAttestSettings(
            challenges: challenges, registry: store, scope: AttestationScope(policy: policy, trustRoot: root),
            assertionVerifier: AssertionVerifier(validationCategories: attestation.validationCategories))
        let endpointLimits = EndpointLimits(
            challengesPerMinute: limits.challengesPerMinute, registrationsPerMinute: limits.registrationsPerMinute,
            maximumEntries: limits.maximumLimiterEntries)
        let registrar = Registrar(
            settings: settings, verifier: AttestationVerifier(trustRoot: root, policy: policy),
            limits: endpointLimits, maximumBodyBytes: configuration.connections.maximumBodyBytes)
        return AppAttestParts(
            store: store, settings: settings,
            services: AttestationServices(challenges: challenges, limits: endpointLimits, registrar: registrar))
    }

    private static func trustRoot(_ custom: GatewayConfiguration.CustomRoot?) throws(GatewayError) -> TrustRoot {
        guard let custom else { return .apple }
        do {
            return try TrustRoot(pem: custom.pem)
        } catch {
            throw .trustRoot("\(error)")
        }
    }

    private static func openStore(
        _ storage: GatewayConfiguration.KeyStorage, reactors: Int
    ) throws(GatewayError) -> SQLiteKeyRegistry {
        var limits = SQLiteKeyRegistry.Limits()
        limits.busyMilliseconds = storage.busyMilliseconds
        limits.connectionsPerPool = reactors
        do throws(KeyRegistryError) {
            return try SQLiteKeyRegistry(path: storage.path, limits: limits)
        } catch {
            throw .store(path: storage.path, "\(error)")
        }
    }
}
