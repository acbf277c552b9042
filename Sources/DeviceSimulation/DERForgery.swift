import AppAttest
import Crypto
import SwiftASN1
import X509

/// Certificates that X509 doesn't write.
enum DERForgery {
    /// As long as the nonce extension's identifier, and different only in its last byte.
    static let otherOID: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 8, 3]
    private static let otherOIDBytes: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x08, 0x03]

    /// Replaces the identifier `otherOID` of an extension with the nonce extension's.
    static func renameOtherToNonce(_ signed: inout [UInt8]) {
        guard let found = signed.firstRange(of: otherOIDBytes) else { return }
        signed[found.upperBound - 1] = 0x02
    }

    /// Changes the last byte of `part` inside `bytes`.
    static func increment(lastByteOf part: [UInt8], in bytes: inout [UInt8]) {
        guard let found = bytes.firstRange(of: part) else { return }
        bytes[found.upperBound - 1] &+= 1
    }

    /// Signs again until the signature's last bit is zero, and marks that bit as unused. A reader that ignores the number of unused
    /// bits accepts it.
    static func withUnusedBit(_ certificate: Certificate, signedBy key: P384.Signing.PrivateKey) throws -> [UInt8] {
        let signed = Array(certificate.tbsCertificateBytes)
        var signature: [UInt8]
        repeat {
            signature = Array(try key.signature(for: SHA256.hash(data: signed)).derRepresentation)
        } while signature.last.map { $0 & 1 } == 1
        return try certificate.assemble(signed, signature: signature, unusedBits: 1)
    }

    /// Adds NULL parameters to the outer algorithm, ecdsa-with-SHA256. A reader that ignores them accepts it.
    static func withAlgorithmParameters(_ certificate: Certificate) throws -> [UInt8] {
        let oid: [UInt8] = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
        return try certificate.assemble(
            Array(certificate.tbsCertificateBytes), algorithm: [0x30, 0x0c] + oid + [0x05, 0x00],
            signature: certificate.signature.rawRepresentation)
    }
}
