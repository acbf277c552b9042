import Admission
import AppAttest
import Reactors
import Relay
import Settings

extension GatewayParts {
    /// The state behind App Attest: one set of challenges and one store for the gate and for registration.
    struct AppAttestParts {
        let settings: AppAttestSettings
        let services: AttestationServices
    }

    /// - Returns: nil where no app is configured.
    static func appAttest(
        _ live: LiveConfiguration, _ pinned: StartupPinned, _ material: TLSMaterial?, state: GatewayState
    ) throws(GatewayError) -> AppAttestParts? {
        guard let attestation = pinned.appAttest, let store = state.store else { return nil }
        let root = try trustRoot(attestation.customRoot)
        let policy = AttestationPolicy(
            apps: attestation.apps, environments: attestation.environments,
            validationCategories: attestation.validationCategories)
        var settings = AppAttestSettings(
            challenges: state.challenges, devices: store.devices,
            scope: AttestationScope(policy: policy, trustRoot: root),
            assertionVerifier: AssertionVerifier(validationCategories: attestation.validationCategories))
        settings.window = window(live, pinned)
        let tokens = tokens(live, pinned, settings, material, state: state)
        let registrar = Registrar(
            settings: settings, registry: store.keys, verifier: AttestationVerifier(trustRoot: root, policy: policy),
            limits: state.endpoints, maximumBodyBytes: live.connections.maximumBodyBytes, tokens: tokens)
        return AppAttestParts(
            settings: settings,
            services: AttestationServices(
                challenges: state.challenges, limits: state.endpoints, registrar: registrar))
    }

    /// - Parameter devices: nil: App Attest isn't configured.
    /// - Returns: nil where nobody gets an access token.
    static func tokens(
        _ live: LiveConfiguration, _ pinned: StartupPinned, _ devices: AppAttestSettings?, _ material: TLSMaterial?,
        state: GatewayState
    ) -> TokenSettings? {
        var tokens = state.tokens?.settings(
            live.tokens, devices: devices,
            names: material.map { ServerNames(dnsNames: $0.dnsNames, addresses: $0.addresses) },
            allowsDevelopment: devices != nil && live.developmentTokens.isAllowed)
        tokens?.shared = state.fleet.shared
        guard let store = state.store, state.start.passkeys != nil else { return tokens }
        tokens?.accounts = AccountSettings(
            registry: store.accounts, store: store.accountStore,
            certificates: pinned.clientCertificates == nil ? nil : material.map(TLSCertificateStatus.init),
            lifetimeSeconds: live.tokens.accountLifetimeSeconds)
        return tokens
    }

    private static func trustRoot(_ custom: GatewayConfiguration.CustomRoot?) throws(GatewayError) -> TrustRoot {
        guard let custom else { return .apple }
        do {
            return try TrustRoot(pem: custom.pem)
        } catch {
            throw .trustRoot("\(error)")
        }
    }
}
