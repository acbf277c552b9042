package import Admission
import FoundationEssentials
package import Reactors

/// The period in which the server's certificate is valid, and its warnings. The texts are public: every client sees the
/// certificate.
package struct CertificateValidity: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case notYetValid, valid, expiring, expired
    }

    /// `/health` and the log warn this many days before the expiry.
    package static let warningDays: Int64 = 14

    /// Seconds since 1970, both included.
    package let period: ClosedRange<Int64>

    package init(_ period: ClosedRange<Int64>) {
        self.period = period
    }

    package func state(at time: Int64) -> State {
        if time < period.lowerBound { return .notYetValid }
        if time > period.upperBound { return .expired }
        return period.upperBound - time < Self.warningDays * 86_400 ? .expiring : .valid
    }

    /// Whether clients accept it.
    package func isValid(at time: Int64) -> Bool { period.contains(time) }

    /// - Parameter time: seconds since 1970.
    /// - Returns: nil if there is nothing to warn of.
    package func warning(at time: Int64) -> String? {
        switch state(at: time) {
        case .valid: nil
        case .notYetValid:
            "The server's certificate isn't valid until \(Self.shown(period.lowerBound)): clients can't connect"
        case .expiring: "The server's certificate expires at \(Self.shown(period.upperBound))"
        case .expired: "The server's certificate expired at \(Self.shown(period.upperBound)): clients can't connect"
        }
    }

    private static func shown(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
    }
}

/// Verifies client certificates for the gate with TLS's trust settings.
package struct TLSCertificateStanding: CertificateStanding {
    /// The material that new handshakes use, or an equal one.
    private let material: TLSMaterial

    package init(_ material: TLSMaterial) {
        self.material = material
    }

    package func problem(with chain: ClientCertificateChain, at time: Int64) -> String? {
        material.problem(withChain: chain.certificates, atUnixSeconds: Int(time / 1_000))
    }
}
