package import Admission
import Observability

extension AppAuthDemand {
    /// What `/health` and the log say about `REQUIRE_APP_AUTH=report`. The text is public.
    ///
    /// - Parameter time: Unix milliseconds.
    /// - Returns: nil if there is nothing to warn of.
    package func warning(at time: Int64) -> String? {
        guard case .reported(let end) = self else { return nil }
        let date = Timestamp(unixMilliseconds: end)
        return isOpen(at: time)
            ? "REQUIRE_APP_AUTH is report: clients without valid app authentication are admitted until \(date)"
            : "REQUIRE_APP_AUTH=report ended at \(date): app authentication is required. Set it to true, or the gateway won't start again"
    }
}
