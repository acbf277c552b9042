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
        _ live: LiveConfiguration, _ appAttest: AppAttestParts?, _ tokens: TokenSettings?,
        _ fleetBlockList: SharedBlockList?, state: GatewayState
    ) throws(GatewayError) -> SignedRequestParts? {
        guard live.signedRequests.isOn == .on, let appAttest, let store = state.store else { return nil }
        try store.checkErasing()
        let settings = SignedRequestSettings(
            appAttest: appAttest.settings, origins: tokens?.origins ?? .unknown)
        let (erasure, watcher) = (DeviceErasure(store: store.keys), state.watcher)
        let maximum = live.connections.maximumBodyBytes
        return SignedRequestParts(
            settings: settings,
            services: SignedRequestServices(
                challenges: state.challenges, limits: state.endpoints, registrar: appAttest.services.registrar,
                prefix: live.signedRequests.prefix ?? "",
                beginErasure: { id async throws(KeyRegistryError) in
                    try await erasure.begin(id, at: Int64(Date.now.timeIntervalSince1970 * 1_000))
                },
                finishErasure: { id async throws(KeyRegistryError) in
                    try await finish(id, by: erasure, after: watcher)
                }),
            authorization: SignedAuthorization(
                settings, blockList: live.blockList, fleetBlockList: fleetBlockList,
                admits: live.internalListener.admits.methods, limits: state.upgrades,
                seesBodies: live.internalListener.body == .forwarded, maximumBodyBytes: maximum))
    }

    /// `ASSERTION_WINDOW`
    static func window(_ live: LiveConfiguration, _ pinned: StartupPinned) -> CounterWindow {
        guard live.signedRequests.isOn == .on, pinned.appAttest != nil else { return .strict }
        return CounterWindow(size: live.signedRequests.window) ?? .strict
    }

    /// How long this gateway has to close the sessions of a key before it is removed; others, and a process of before a
    /// copyover, have ``Erasure/notice``.
    private static let ownNotice: Duration = .seconds(5)

    /// Gateways close the sessions of what is revoked, not of what is gone.
    private static func finish(
        _ id: KeyID, by erasure: DeviceErasure, after watcher: OwnRevocationWatcher
    ) async throws(KeyRegistryError) {
        let noticed = ContinuousClock.now + Erasure.notice
        guard await watcher.hasLooked(within: ownNotice) else {
            throw .unavailable("the key is refused, but its sessions aren't closed yet")
        }
        try? await Task.sleep(until: noticed)
        try await erasure.finish(id)
    }
}

extension GatewayState {
    /// Before this gateway uses the window. If the store doesn't answer, it neither starts with it nor changes to it: a
    /// window that was narrower in between and wasn't recorded would open what it has closed.
    ///
    /// - Parameter former: this gateway's until now; nil: it starts.
    func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(GatewayError) {
        guard let store else { return }
        do throws(KeyRegistryError) {
            try store.counterWindows.putInForce(window, after: former)
        } catch {
            throw store.failure("ASSERTION_WINDOW can't be recorded: \(error.cause)")
        }
    }
}
