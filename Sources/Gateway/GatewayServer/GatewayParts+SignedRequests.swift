import Admission
import FoundationEssentials
import KeyStore
import Relay
import Settings

extension GatewayParts {
    /// What signs requests one by one: the same keys, challenges and counters as App Attest's.
    struct SignedRequestParts {
        let settings: SignedRequestSettings
        let services: SignedRequestServices
        let authorization: SignedAuthorization
    }

    /// - Returns: nil with `SIGNED_REQUESTS=off`.
    static func signedRequests(
        _ live: LiveConfiguration, _ appAttest: AppAttestParts?, _ fleetBlockList: SharedBlockList?,
        state: GatewayState
    ) -> SignedRequestParts? {
        guard live.signedRequests.isOn == .on, let appAttest, let store = state.store else { return nil }
        let settings = SignedRequestSettings(
            appAttest: appAttest.settings, origins: appAttest.tokens?.origins ?? .unknown)
        let maximum = live.connections.maximumBodyBytes
        return SignedRequestParts(
            settings: settings,
            services: SignedRequestServices(
                challenges: state.challenges, limits: state.endpoints, registrar: appAttest.services.registrar,
                prefix: live.signedRequests.prefix ?? ""
            ) { id async throws(KeyRegistryError) in try await forget(id, in: store.keys) },
            authorization: SignedAuthorization(
                settings, blockList: live.blockList, fleetBlockList: fleetBlockList,
                admits: live.internalListener.admits.methods, limits: state.upgrades,
                seesBodies: live.internalListener.body == .forwarded, maximumBodyBytes: maximum))
    }

    /// `ASSERTION_WINDOW`
    static func window(_ live: LiveConfiguration) -> CounterWindow {
        guard live.signedRequests.isOn == .on else { return .strict }
        return CounterWindow(size: live.signedRequests.window) ?? .strict
    }

    /// How long gateways have to close the sessions of a key before it is removed: three looks at the store.
    private static let notice = RevocationWatcher.interval * 3

    /// As an operator erases a device, but for its development tokens: gateways close the sessions of what is revoked,
    /// not of what is gone.
    private static func forget(_ id: KeyID, in store: any KeyMaintenance) async throws(KeyRegistryError) {
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
        if try await store.beginErasure(of: id, at: now) { try? await Task.sleep(for: notice) }
        let holders = Identity.ofDevice(id, grants: []).compactMap { HolderMark(bytes: $0.mark) }
        _ = try await store.finishErasure(of: id, holders: holders)
    }
}
