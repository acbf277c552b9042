import Admission
import Logging
import Observability
package import RelayCore
package import Telnet

/// The settings of a session for its whole life: those that it began with, shared by all sessions that began under
/// them.
///
/// It has the part of ``RelaySettings`` that sessions need, without the rules of admission: a session may outlive many
/// reloads, and would retain one block list of each.
final class SessionSettings: Sendable {
    let targets: TargetPolicy
    let dialer: TargetDialer
    let dialects: DialectSettings
    let session: SessionLimits
    let traffic: TrafficSettings
    let compression: ClientCompression
    let directory: SessionDirectory
    let drain: DrainSwitch
    /// Records the end of a session.
    let record: DecisionRecord
    let metrics: GatewayMetrics
    let logger: Logger

    init(_ settings: RelaySettings) {
        targets = settings.targets
        dialer = settings.dialer
        dialects = settings.dialects
        session = settings.session
        traffic = settings.traffic
        compression = settings.compression
        directory = settings.directory
        drain = settings.drain
        record = DecisionRecord(settings)
        metrics = settings.metrics
        logger = settings.logger
    }
}

/// The settings for the dialects of clients and for telnet toward targets. Times in nanoseconds.
package struct DialectSettings: Sendable {
    /// `DEFAULT_DIALECT`
    package var standard = DefaultDialect.auto
    /// `DIALECT_WAIT_MS`
    package var wait = DialectChooser.defaultWait
    /// `MAX_MESSAGE_BYTES`
    package var maximumMessageBytes = Translation.defaultMaximumMessageBytes
    /// Twice `PING_INTERVAL_SECONDS`: a client that names its target must do so within this time; otherwise it is
    /// closed with 1008.
    package var connectWait: UInt64 = 60_000_000_000
    /// `OUTPUT_BUFFER_BYTES`; 0: no session can be resumed (`RESUME_GRACE_MINUTES` is 0).
    package var outputBufferBytes = Translation.defaultOutputBufferBytes
    /// `SESSION_EVENTS_GMCP`
    package var tellsTargetOfClient = false
    /// Clients that a shutdown closes are told a random time between this and twice this, after which they may come
    /// back.
    package static let reconnectMilliseconds = 5_000
    package var reconnectMilliseconds = reconnectMilliseconds
    /// The same, for clients that another process goes on with.
    package static let copyoverReconnectMilliseconds = 250
    package var copyoverReconnectMilliseconds = copyoverReconnectMilliseconds
    /// `TARGET_KEEPALIVE_SECONDS`; nil: never.
    package var keepAlive: UInt64?
    /// `TARGET_ENCODING`, `MXP_MODE` and the limits of telnet; each session adds its client's values.
    package var telnet = TelnetClientSettings()

    package init() {}
}

/// Rate limits of sessions. 0 and nil: no limit.
package struct TrafficSettings: Sendable {
    /// `MESSAGES_PER_SECOND`
    package var messagesPerSecond = 60
    /// `CLIENT_BYTES_PER_SECOND`
    package var clientBytesPerSecond = 262_144
    /// `TARGET_BYTES_PER_SECOND`
    package var targetBytesPerSecond = 4_194_304
    /// `MESSAGES_PER_SECOND_PER_ADDRESS`: one for all reactors.
    package var perAddress: AddressPaces?

    package init() {}

    var limitsClient: Bool { messagesPerSecond > 0 || clientBytesPerSecond > 0 || perAddress != nil }
}
