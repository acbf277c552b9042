import Admission
import KeyStore

extension FleetStore: GatewayStore {
    var keys: any KeyMaintenance { registry }
    var devices: DeviceRegistry { .shared(fleet) }
    var signingKeys: any SigningKeyStore { registry }
    var developmentTokens: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry { grants }
    var remembersProofs: Bool { true }
    /// The database isn't asked while the driver pauses.
    var retryAfter: Int { registry.isPaused ? 3 : 1 }
    var queueLengths: [(name: String, count: Int)] { [("postgresql", registry.waitingCalls)] }

    func keptTickets(maximum: Int, _ observer: StoreObserver) -> (any KeptTicketStore)? { nil }

    func revocations() -> any RevocationSource { FleetFeed(self) }

    func tryWriting() async throws(KeyRegistryError) { try await registry.tryWriting() }

    func maintain() async throws(KeyRegistryError) { try await forgetExpired() }

    func failure(_ reason: String) -> GatewayError { .fleetStore(name, reason) }
}
