package import SwiftASN1
package import X509

/// The extension 1.2.840.113635.100.8.2 of Apple's attestation certificates, which contains the nonce of an
/// attestation.
///
/// ```
/// 30 24            SEQUENCE, 36 bytes
///    A1 22         [1], 34 bytes
///       04 20      OCTET STRING, 32 bytes
///          nonce
/// ```
///
/// It has exactly one DER encoding, so it is compared with that encoding.
package enum NonceExtension {
    /// Why a certificate has no nonce.
    package enum Fault: Error, Hashable, Sendable { case missing, malformed }

    package static let oid: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 8, 2]

    private static let prefix: [UInt8] = [0x30, 0x24, 0xa1, 0x22, 0x04, 0x20]
    private static let nonceLength = 32

    /// The value of the extension for a nonce of 32 bytes.
    package static func value(for nonce: [UInt8]) -> [UInt8] { prefix + nonce }

    /// The nonce in a certificate. X509 refuses a certificate that has an extension twice.
    package static func nonce(in leaf: Certificate) throws(Fault) -> [UInt8] {
        guard let found = leaf.extensions[oid: oid] else { throw .missing }
        let value = found.value
        guard value.count == prefix.count + nonceLength, value.starts(with: prefix) else { throw .malformed }
        return Array(value.suffix(nonceLength))
    }
}
