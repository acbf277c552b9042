import Admission

/// A substitute for TLS's verification of client certificates: which chains verify, their validity, and which are
/// revoked.
struct TrustedChains: CertificateStatus {
    static let good = ClientCertificateChain([[7]])

    var trusted = [Self.good]
    /// Unix milliseconds.
    var notBefore = start.unixMilliseconds - 3_600_000
    var notAfter = start.unixMilliseconds + 3_600_000
    var revoked: [ClientCertificateChain?] = []

    func problem(with chain: ClientCertificateChain, at time: Int64) -> String? {
        guard trusted.contains(chain) else { return "unknown authority" }
        guard time >= notBefore else { return "not valid yet" }
        guard time <= notAfter else { return "expired" }
        return revoked.contains(chain) ? "revoked" : nil
    }

    func with(_ change: (inout TrustedChains) -> Void) -> TrustedChains {
        var chains = self
        change(&chains)
        return chains
    }
}
