import Crypto
import DeviceSimulation
import Foundation
import SwiftASN1
import X509

/// An attestation whose certificates have hostile names: anybody can make one, and the verifier looks for issuers by
/// their names.
enum HostileAttestation {
    /// The largest attestation has 16 KB, and the text is in it three times.
    static let bytes = 5_000

    static func object(naming text: String) throws -> [UInt8] {
        let name = try DistinguishedName { CommonName(text) }
        let (leafKey, issuerKey) = (P256.Signing.PrivateKey(), P384.Signing.PrivateKey())
        let plain = try DistinguishedName { CommonName("a") }
        let leaf = try certificate(
            plain, .init(leafKey.publicKey), issuedBy: name, .init(issuerKey), isAuthority: false)
        let issuer = try certificate(
            name, .init(issuerKey.publicKey), issuedBy: name, .init(issuerKey), isAuthority: true)
        let statement = CBORItem.map([
            (.text("x5c"), .array([.bytes(leaf), .bytes(issuer)])), (.text("receipt"), .bytes([])),
        ])
        return CBORItem.map([
            (.text("fmt"), .text("apple-appattest")), (.text("attStmt"), statement), (.text("authData"), .bytes([])),
        ]).encoded
    }

    private static func certificate(
        _ subject: DistinguishedName, _ key: Certificate.PublicKey, issuedBy issuer: DistinguishedName,
        _ issuerKey: Certificate.PrivateKey, isAuthority: Bool
    ) throws -> [UInt8] {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
            notValidBefore: Date() - 86_400, notValidAfter: Date() + 86_400, issuer: issuer, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(
                    isAuthority
                        ? BasicConstraints.isCertificateAuthority(maxPathLength: nil)
                        : BasicConstraints.notCertificateAuthority)
            }, issuerPrivateKey: issuerKey)
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        return serializer.serializedBytes
    }

    /// The body of a registration in the guide's dialect.
    static func registration(naming text: String, nonce: String) throws -> [UInt8] {
        let key = Data(repeating: 1, count: 32).base64EncodedString()
        let object = Data(try object(naming: text)).base64EncodedString()
        return Array(#"{"keyId":"\#(key)","attestation":"\#(object)","nonce":"\#(nonce)"}"#.utf8)
    }
}
