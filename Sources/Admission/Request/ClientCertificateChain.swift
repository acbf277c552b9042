/// The certificates by which a client has proved its identity: its own first, then those that it sent along, each in DER.
///
/// It is kept for as long as something may follow from that proof: with a session, and with its tickets. They all share one copy.
package struct ClientCertificateChain: Hashable, Sendable {
    /// Certificates, the client's own among them.
    package static let maximumCount = 3
    /// Of all certificates together.
    package static let maximumBytes = 8_192

    package let certificates: [[UInt8]]

    /// `nil` for none, and above the limits.
    package init?(_ certificates: [[UInt8]]) {
        guard (1...Self.maximumCount).contains(certificates.count),
            certificates.reduce(0, { $0 + $1.count }) <= Self.maximumBytes
        else { return nil }
        self.certificates = certificates
    }
}

/// What is trusted of client certificates today: the configured authorities and revocation lists.
package protocol CertificateStanding: Sendable {
    /// Verifies a chain as the handshake of a new connection would. The gate asks on the thread of the request, a reactor's: a chain is
    /// bounded, so the computation is.
    ///
    /// - Parameter time: Unix milliseconds. No clock is read.
    /// - Returns: `nil` where the chain verifies; otherwise why it doesn't, for the log alone.
    func problem(with chain: ClientCertificateChain, at time: Int64) -> String?
}
