import Admission
import BlockingWork
import KeyStore
import KeyStoreSQLite
import Relay
import Settings

/// The store of a gateway that is alone: a file.
struct FileStore: GatewayStore {
    private let file: SQLiteKeyRegistry
    let alarm = Alarm()

    init(_ file: SQLiteKeyRegistry) { self.file = file }

    init(_ start: StartConfiguration, _ observer: StoreObserver) throws(GatewayError) {
        let path = start.keyStore.path
        var limits = SQLiteKeyRegistry.Limits()
        limits.connectionsPerPool = start.process.reactorThreads ?? Cores.count
        do throws(KeyRegistryError) {
            file = try SQLiteKeyRegistry(path: path, limits: limits, observer: observer)
        } catch {
            throw .store(path: path, "\(error)")
        }
    }

    var keys: any KeyMaintenance { file }
    var devices: DeviceRegistry { .immediate(file) }
    var accounts: AccountRegistry { .immediate(file) }
    var accountStore: any AccountStore { file }
    var counterWindows: any CounterWindowStore { file }
    var signingKeys: any SigningKeyStore { file.tokenStore }
    var developmentTokens: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry { file }
    var remembersProofs: Bool { false }
    var retryAfter: Int { 1 }
    var queueLengths: [(name: String, count: Int)] { file.queueLengths }

    func keptTickets(maximum: Int, _ observer: StoreObserver) throws(GatewayError) -> (any KeptTicketStore)? {
        do throws(KeyRegistryError) {
            return try SQLiteKeptTickets(of: file, maximum: maximum, observer: observer)
        } catch {
            throw failure("\(error)")
        }
    }

    func revocations() throws(KeyRegistryError) -> any RevocationSource { try SQLiteRevocations(of: file) }

    func tryWriting() async throws(KeyRegistryError) { try await file.tryWriting() }

    func maintain() async throws(KeyRegistryError) {
        let time = Moment.now.unixMilliseconds
        var failure: KeyRegistryError?
        // None of them is left out because another one can't be done.
        do throws(KeyRegistryError) { _ = try await file.checkpoint() } catch { failure = error }
        do throws(KeyRegistryError) {
            _ = try await file.expireAccounts(madeBefore: time - AccountLimits.unusedMilliseconds, at: time)
        } catch { failure = error }
        _ = try await file.expireFamilies(at: time)
        if let failure { throw failure }
    }

    func checkErasing() {}

    func mayFinishErasures() -> Bool { true }

    func failure(_ reason: String) -> GatewayError { .store(path: file.path, reason) }
}
