import Crypto
package import Foundation
import SwiftASN1
package import X509

/// A certificate authority for tests: it issues certificates, and revocation lists whose signatures aren't verified.
package struct TestAuthority: Sendable {
    private let key = P256.Signing.PrivateKey()
    package let name: DistinguishedName
    /// PEM
    package let certificate: String

    package init(name: String, now: Date, days: Double = 1000) throws {
        self.name = try DistinguishedName { CommonName(name) }
        certificate = try Self.certificate(
            subject: self.name, publicKey: key.publicKey, issuer: self.name, issuerKey: key, isAuthority: true,
            now: now, days: days)
    }

    /// - Parameter days: from `now` until it expires; negative for one that has expired.
    package func issue(_ name: String, now: Date, days: Double = 365, hosts: [String] = []) throws -> (
        certificate: String, key: String
    ) {
        let leafKey = P256.Signing.PrivateKey()
        let certificate = try Self.certificate(
            subject: try DistinguishedName { CommonName(name) }, publicKey: leafKey.publicKey, issuer: self.name,
            issuerKey: key, isAuthority: false, now: now, days: days, hosts: hosts)
        return (certificate, leafKey.pemRepresentation)
    }

    /// A revocation list in PEM, with bytes that only look like a signature.
    package func revocationList(thisUpdate: Date, nextUpdate: Date?) throws -> String {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { outer in
            try outer.appendConstructedNode(identifier: .sequence) { list in
                try list.serialize(1)
                try Self.appendAlgorithm(&list)
                try list.serialize(name)
                try list.serialize(Self.time(thisUpdate))
                if let nextUpdate { try list.serialize(Self.time(nextUpdate)) }
            }
            try Self.appendAlgorithm(&outer)
            try outer.serialize(ASN1BitString(bytes: [1, 2, 3]))
        }
        return PEMDocument(type: "X509 CRL", derBytes: serializer.serializedBytes).pemString + "\n"
    }

    private static func appendAlgorithm(_ serializer: inout DER.Serializer) throws {
        try serializer.appendConstructedNode(identifier: .sequence) { algorithm in
            try algorithm.serialize(ASN1ObjectIdentifier.AlgorithmIdentifier.sha256WithRSAEncryption)
        }
    }

    private static func time(_ date: Date) throws -> GeneralizedTime {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        return try GeneralizedTime(
            year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0, hours: parts.hour ?? 0,
            minutes: parts.minute ?? 0, seconds: parts.second ?? 0, fractionalSeconds: 0)
    }

    private static func certificate(
        subject: DistinguishedName, publicKey: P256.Signing.PublicKey, issuer: DistinguishedName,
        issuerKey: P256.Signing.PrivateKey, isAuthority: Bool, now: Date, days: Double, hosts: [String] = []
    ) throws -> String {
        let certificate = try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(publicKey),
            notValidBefore: now.addingTimeInterval(-10_000 * 86_400),
            notValidAfter: now.addingTimeInterval(days * 86_400),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(
                    isAuthority
                        ? BasicConstraints.isCertificateAuthority(maxPathLength: nil)
                        : BasicConstraints.notCertificateAuthority)
                if !hosts.isEmpty { SubjectAlternativeNames(hosts.map { .dnsName($0) }) }
            },
            issuerPrivateKey: .init(issuerKey))
        return try certificate.serializeAsPEM().pemString + "\n"
    }
}
