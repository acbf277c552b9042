import Admission
import Logging
import Observability
import RelayCore

/// What a session goes by as long as it lives: the settings that it began with, one for all that began under the same.
///
/// Of ``RelaySettings`` it has what sessions need, and not what newcomers are judged by: a session may outlive many reloads, and would keep
/// a block list of each alive.
final class SessionSettings: Sendable {
    let targets: TargetPolicy
    let dialer: TargetDialer
    let dialects: DialectSettings
    let session: SessionLimits
    let traffic: TrafficSettings
    let compression: ClientCompression
    let directory: SessionDirectory
    let drain: DrainSwitch
    /// Where the end of a session is written down.
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
