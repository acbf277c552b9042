import Admission
import Observability
import Reactors

/// The answer to `/health`, for clients and on the internal listener.
enum HealthAnswer {
    static func make(_ settings: RelaySettings, at reactor: Reactor) -> HTTPAnswer {
        let isDraining = settings.drain.isDraining
        let certificate = settings.certificate?.warning(at: reactor.moment.unixMilliseconds / 1_000)
        let report = settings.appAuth.warning(at: reactor.moment.unixMilliseconds)
        let warnings =
            settings.warnings + [report, certificate].compactMap(\.self) + settings.audit.condition.warnings
        return JSONAnswers.health(
            isDraining ? 503 : 200, status: isDraining ? "draining" : "healthy", version: settings.version,
            warnings: warnings)
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
