/// Identifies a certificate in a revocation list (RFC 5280 section 5.1.2.6): its issuer and serial number.
package struct CertificateNumber: Hashable, Sendable {
    /// The issuer's name, DER.
    package let issuer: [UInt8]
    /// A DER INTEGER.
    package let serial: [UInt8]

    package init(issuer: [UInt8], serial: [UInt8]) {
        self.issuer = issuer
        self.serial = serial
    }
}
