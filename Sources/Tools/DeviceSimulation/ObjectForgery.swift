import AppAttest
import Crypto
import SwiftASN1
import X509

/// Changes that turn a finished CBOR object into something other than strict CBOR.
enum ObjectForgery {
    /// A five-byte head with a length of 16 MiB, padded to twenty bytes.
    private static func huge(_ majorType: UInt8) -> [UInt8] {
        CBORItem.head(majorType, 16 * 1024 * 1024) + [UInt8](repeating: 0, count: 15)
    }

    private static let nestedThousandDeep = [UInt8](repeating: 0x81, count: 1000) + [0x00]
    private static let sizeAboveEveryLimit = 17 * 1024

    static func change(for defect: AttestationDefect) -> ((inout [UInt8]) -> Void)? {
        switch defect {
        case .empty: { $0 = [] }
        case .truncated: { $0.removeLast() }
        case .trailingBytes: { $0.append(0) }
        case .indefiniteMap: { $0 = [0xbf] + $0.dropFirst() + [0xff] }
        case .indefiniteBytes: { $0 = [0xa1, 0x63] + Array("fmt".utf8) + [0x5f, 0x41, 0x00, 0xff] }
        case .nonMinimalLength: { $0 = CBORItem.head(5, 3, width: 1) + $0.dropFirst() }
        case .reservedLength: { $0[0] = 5 << 5 | 28 }
        case .invalidUTF8: { $0 = [0xa1, 0x62, 0xc3, 0x28, 0x00] }
        case .tag: { $0 = [0xc1] + $0 }
        case .floatingPoint: { $0 = [0xf9, 0x3c, 0x00] }
        case .bytesAsKey: { $0 = [0xa1, 0x43] + Array("fmt".utf8) + [0x00] }
        case .nestedThousandDeep: { $0 = nestedThousandDeep }
        case .hugeByteString: { $0 = huge(2) }
        case .hugeArray: { $0 = huge(4) }
        case .hugeMap: { $0 = huge(5) }
        case .tooLarge: { $0 += [UInt8](repeating: 0, count: sizeAboveEveryLimit) }
        default: nil
        }
    }

    static func change(for defect: AssertionDefect) -> ((inout [UInt8]) -> Void)? {
        switch defect {
        case .empty: { $0 = [] }
        case .truncated: { $0.removeLast() }
        case .trailingBytes: { $0.append(0) }
        case .indefiniteMap: { $0 = [0xbf] + $0.dropFirst() + [0xff] }
        case .nonMinimalLength: { $0 = CBORItem.head(5, 2, width: 1) + $0.dropFirst() }
        case .nestedThousandDeep: { $0 = nestedThousandDeep }
        case .hugeByteString: { $0 = huge(2) }
        case .tooLarge: { $0 += [UInt8](repeating: 0, count: sizeAboveEveryLimit) }
        default: nil
        }
    }
}

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

    /// Signs again until the signature's last bit is zero, and marks that bit as unused. A reader that ignores the
    /// number of unused bits accepts it.
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
