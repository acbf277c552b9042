package import Admission
import FoundationEssentials
package import Reactors

/// The period in which a certificate that the gateway presents is valid, and its warnings. The texts are public: they
/// tell the period alone.
package struct CertificateValidity: Sendable, Equatable {
    /// Which certificate.
    package enum Owner: String, Sendable {
        case server = "The server's certificate"
        case internalListener = "The internal listener's certificate"
    }

    package enum State: Sendable, Equatable {
        case notYetValid, valid, expiring, expired
    }

    /// `/health` and the log warn this many days before the expiry.
    package static let warningDays: Int64 = 14

    /// Seconds since 1970, both included.
    package let period: ClosedRange<Int64>
    package let owner: Owner

    package init(_ period: ClosedRange<Int64>, of owner: Owner = .server) {
        self.period = period
        self.owner = owner
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
            "\(owner.rawValue) isn't valid until \(Self.shown(period.lowerBound)): clients can't connect"
        case .expiring: "\(owner.rawValue) expires at \(Self.shown(period.upperBound))"
        case .expired: "\(owner.rawValue) expired at \(Self.shown(period.upperBound)): clients can't connect"
        }
    }

    private static func shown(_ time: Int64) -> String {
        Date(timeIntervalSince1970: Double(time)).formatted(.iso8601)
    }
}

/// Verifies client certificates for the gate with TLS's trust settings.
package struct TLSCertificateStatus: CertificateStatus {
    /// The material that new handshakes use, or an equal one.
    private let material: TLSMaterial

    package init(_ material: TLSMaterial) {
        self.material = material
    }

    package func problem(with chain: ClientCertificateChain, at time: Int64) -> String? {
        material.problem(withChain: chain.certificates, atUnixSeconds: Int(time / 1_000))
    }
}
