import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// A session's lines in the log.
extension SessionStage {
    /// A line of which one client may cause a limited number. Neither text nor metadata is made if it isn't logged.
    func log(
        _ message: @autoclosure () -> Logger.Message, _ more: @autoclosure () -> [String: Logger.MetadataValue?] = [:]
    ) {
        guard settings.logger.logLevel <= .info, settings.record.isLogged(client, at: loop.moment) else { return }
        write(message(), more())
    }

    /// A line that a session has once.
    func write(
        _ message: @autoclosure () -> Logger.Message, _ more: @autoclosure () -> [String: Logger.MetadataValue?]
    ) {
        settings.logger.info(
            message(), metadata: more().compactMapValues { $0 }.merging([LogKeys.session: "\(client.session)"]) { $1 })
    }

    func logTargetError(_ error: TCPError, _ target: AuthorizedTarget?) {
        guard settings.record.isLogged(client, at: loop.moment) else { return }
        settings.logger.warning(
            "target connection failed",
            metadata: [
                LogKeys.session: "\(client.session)", LogKeys.target: text(of: target), LogKeys.error: "\(error)",
            ])
    }

    func logConnected(_ leg: TargetLeg) {
        var metadata: Logger.Metadata = [
            LogKeys.session: "\(client.session)", LogKeys.target: text(of: leg.target),
            LogKeys.targetTLS: "\(leg.tlsVersion ?? "none")",
        ]
        metadata[LogKeys.fallback] = leg.fallback.map { "\($0)" }
        settings.logger.debug("target connected", metadata: metadata)
    }

    /// What the operator can do about the end; nil: the reason says all.
    var endRemark: String? {
        machine.endReason == .targetBroken ? translation?.value.brokenStream?.remark : nil
    }

    func text(of target: AuthorizedTarget?) -> Logger.MetadataValue {
        "\(target.map { "\($0.host.text):\($0.port)" } ?? "-")"
    }
}
