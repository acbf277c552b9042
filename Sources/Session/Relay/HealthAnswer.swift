import Admission
import Observability
import Reactors

/// The answer to `/health`, for clients and on the internal listener.
///
/// `degraded` says that clients can't connect, because the certificate isn't valid now. The status stays 200: a load
/// balancer that asks for it would otherwise take all gateways out at once. `/readyz` is stricter.
enum HealthAnswer {
    static func make(_ settings: RelaySettings, at reactor: Reactor) -> HTTPAnswer {
        let time = reactor.moment.unixMilliseconds / 1_000
        let isDraining = settings.drain.isDraining
        let certificates = [settings.certificate, settings.internalCertificate].map { $0?.warning(at: time) }
        let report = settings.appAuth.warning(at: reactor.moment.unixMilliseconds)
        let warnings =
            settings.warnings + ([report] + certificates).compactMap(\.self) + settings.audit.condition.warnings
        let isDegraded = settings.certificate.map { !$0.isValid(at: time) } ?? false
        return JSONAnswers.health(
            isDraining ? 503 : 200, status: isDraining ? "draining" : isDegraded ? "degraded" : "healthy",
            version: settings.version, warnings: warnings)
    }
}

extension AuditLog.Condition {
    /// For `/health`. The warning about missing lines stays after the log can be written again.
    fileprivate var warnings: [String] {
        guard lost > 0 else { return [] }
        guard isWritten else { return ["The audit log can't be written: \(lost) lines are missing"] }
        return ["The audit log is written again: \(lost) lines are missing"]
    }
}
