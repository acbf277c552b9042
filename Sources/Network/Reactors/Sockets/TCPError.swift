/// Why a connection to a target failed or ended.
package enum TCPError: Error, Equatable, CustomStringConvertible {
    /// The text is the reason.
    case notResolved(String)
    /// `DialOptions.accepts` refused all addresses of the name; or the connection led to this machine, and
    /// `refusesThisMachine` forbids that.
    case notAllowed
    case notConnected(String)
    /// After `DialOptions.timeoutMilliseconds`.
    case timedOut(milliseconds: Int)
    /// TCP connected, but TLS failed.
    case notSecured(TargetTLSFailure)
    case broken(String)

    /// For the log.
    package var description: String {
        switch self {
        case .notResolved(let reason), .notConnected(let reason): reason
        case .notAllowed: "none of its addresses is allowed"
        case .timedOut(let milliseconds): "timed out after \(Self.seconds(milliseconds)) s"
        case .notSecured(let failure): "no TLS: \(failure)"
        case .broken(let reason): "the connection broke: \(reason)"
        }
    }

    /// `10`, or `0.25`.
    private static func seconds(_ milliseconds: Int) -> String {
        milliseconds.isMultiple(of: 1_000) ? "\(milliseconds / 1_000)" : "\(Double(milliseconds) / 1_000)"
    }
}
