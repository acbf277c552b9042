/// The certificates that prove a client's identity: its own first, then the others that it sent, each in DER.
///
/// It is kept as long as the proof may be rechecked: with a session and its tickets, which share one copy.
package struct ClientCertificateChain: Codable, Hashable, Sendable {
    /// Certificates, the client's own among them.
    package static let maximumCount = 3
    /// The total size of all certificates.
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

/// The current trust in client certificates: the configured authorities and revocation lists.
package protocol CertificateStatus: Sendable {
    /// Verifies a chain as the handshake of a new connection would. The gate calls it on the request's reactor thread;
    /// the size of a chain is bounded, and so is the computation.
    ///
    /// - Parameter time: Unix milliseconds. No clock is read.
    /// - Returns: `nil` if the chain verifies; otherwise the reason, for the log alone.
    func problem(with chain: ClientCertificateChain, at time: Int64) -> String?
}

/// Identifies a certificate in a revocation list (RFC 5280 section 5.1.2.6): its issuer and serial number.
package struct CertificateNumber: Codable, Hashable, Sendable {
    /// The issuer's name, DER.
    package let issuer: [UInt8]
    /// A DER INTEGER.
    package let serial: [UInt8]

    package init(issuer: [UInt8], serial: [UInt8]) {
        self.issuer = issuer
        self.serial = serial
    }
}
