import Admission
import BlockingWork
import KeyStore

/// The key store that a gateway serves from: a file of its own (``FileStore``), or the database of a fleet
/// (``FleetStore``).
protocol GatewayStore: Sendable {
    var keys: any KeyMaintenance { get }
    var devices: DeviceRegistry { get }
    var accounts: AccountRegistry { get }
    /// The part of accounts that waits.
    var accountStore: any AccountStore { get }
    /// Its calls block, as those of the next one do.
    var counterWindows: any CounterWindowStore { get }
    var signingKeys: any SigningKeyStore { get }
    var developmentTokens: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry { get }
    /// The next tickets of sessions; nil: the fleet's tickets are in the store, and these with them.
    func keptTickets(maximum: Int, _ observer: StoreObserver) throws(GatewayError) -> (any KeptTicketStore)?
    /// It knows which proofs of possession were accepted before this process began.
    var remembersProofs: Bool { get }
    /// Seconds after which it may answer again.
    var retryAfter: Int { get }
    /// Rings when another process has changed something, where that can be heard.
    var alarm: Alarm { get }
    var queueLengths: [(name: String, count: Int)] { get }

    func revocations() throws(KeyRegistryError) -> any RevocationSource
    /// Commits a write that changes nothing; durable when it returns.
    func tryWriting() async throws(KeyRegistryError)
    /// Regularly: moves the write-ahead log into the file, or has the database forget what has expired.
    func maintain() async throws(KeyRegistryError)
    /// Throws if this gateway may not erase the keys of devices that unregister themselves. Blocks.
    func checkErasing() throws(GatewayError)
    /// Whether this gateway may finish erasures that were interrupted, whoever began them.
    func mayFinishErasures() async throws(KeyRegistryError) -> Bool
    func failure(_ reason: String) -> GatewayError
}
