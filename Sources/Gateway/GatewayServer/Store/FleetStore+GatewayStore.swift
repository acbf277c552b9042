import Admission
import BlockingWork
import KeyStore
import Relay

extension FleetStore: GatewayStore {
    var keys: any KeyMaintenance { registry }
    var devices: DeviceRegistry { .shared(fleet) }
    var accounts: AccountRegistry { .shared(knownAccounts) }
    var accountStore: any AccountStore { registry }
    var counterWindows: any CounterWindowStore { counterWindow }
    var signingKeys: any SigningKeyStore { registry }
    var developmentTokens: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry { grants }
    var remembersProofs: Bool { true }
    /// The database isn't asked while the driver pauses.
    var retryAfter: Int { registry.isPaused ? 3 : 1 }
    var queueLengths: [(name: String, count: Int)] { [("postgresql", registry.waitingCalls)] }

    func keptTickets(maximum: Int, _ observer: StoreObserver) -> (any KeptTicketStore)? { nil }

    func revocations() -> any RevocationSource { FleetFeed(self) }

    func tryWriting() async throws(KeyRegistryError) { try await registry.tryWriting() }

    func maintain() async throws(KeyRegistryError) {
        var failure: KeyRegistryError?
        do throws(KeyRegistryError) { try await keepWitness() } catch { failure = error }
        try await forgetExpired()
        if let failure { throw failure }
    }

    /// A database that doesn't answer now prevents no reload.
    func checkErasing() throws(GatewayError) {
        if mayErase() == false { throw .fleetStore(name, Self.erasingRefused) }
    }

    func mayFinishErasures() async throws(KeyRegistryError) -> Bool { try await registry.mayErase() }

    private static let erasingRefused =
        "with SIGNED_REQUESTS=on the gateways' role needs the last grants of config/postgresql-roles.sql"

    func failure(_ reason: String) -> GatewayError { .fleetStore(name, reason) }
}

extension FleetFeed: RevocationSource {}
