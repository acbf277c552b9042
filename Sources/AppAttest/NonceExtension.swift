package import SwiftASN1
import X509

/// The leaf's extension 1.2.840.113635.100.8.2, which contains the nonce of an attestation (Apple's step 4).
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
    package static let oid: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 8, 2]

    private static let prefix: [UInt8] = [0x30, 0x24, 0xa1, 0x22, 0x04, 0x20]
    private static let nonceLength = 32

    /// The value of the extension for a nonce of 32 bytes.
    package static func value(for nonce: [UInt8]) -> [UInt8] { prefix + nonce }

    /// The nonce in a certificate. X509 refuses a certificate that has an extension twice.
    static func nonce(in leaf: Certificate) throws(AttestationError) -> [UInt8] {
        guard let found = leaf.extensions[oid: oid] else { throw .nonceExtensionMissing }
        let value = found.value
        guard value.count == prefix.count + nonceLength, value.starts(with: prefix) else {
            throw .nonceExtensionMalformed
        }
        return Array(value.suffix(nonceLength))
    }
}
