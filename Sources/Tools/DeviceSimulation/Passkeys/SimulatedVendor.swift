import Crypto
package import FoundationEssentials
package import SwiftASN1
package import X509

/// A vendor of authenticators: a root and an intermediate on P-256, which issue attestation certificates of every
/// format.
package struct SimulatedVendor: Sendable {
    let rootKey = P256.Signing.PrivateKey()
    let intermediateKey = P256.Signing.PrivateKey()
    package let root: Certificate
    package let intermediate: Certificate

    static let day: TimeInterval = 24 * 60 * 60

    /// - Parameter name: part of the certificates' names.
    package init(at time: Date, name: String = "Simulated Vendor") throws {
        let rootName = Self.authority("\(name) Root")
        root = try PasskeyCertificatePlan.authority(
            rootName, by: rootName, Certificate.PublicKey(rootKey.publicKey), at: time
        )
        .issue(by: rootKey)
        intermediate = try PasskeyCertificatePlan.authority(
            Self.authority("\(name) CA"), by: rootName, Certificate.PublicKey(intermediateKey.publicKey), at: time
        ).issue(by: rootKey)
    }

    /// The root, issued again with the same name and key.
    package func renewedRoot(
        at time: Date, changing change: (inout PasskeyCertificatePlan) -> Void = { _ in }
    ) throws -> Certificate {
        let name = Self.names(of: root)
        var plan = PasskeyCertificatePlan.authority(name, by: name, Certificate.PublicKey(rootKey.publicKey), at: time)
        change(&plan)
        return try plan.issue(by: rootKey)
    }

    /// The intermediate, issued again after a change.
    package func intermediate(
        at time: Date, changing change: (inout PasskeyCertificatePlan) -> Void
    ) throws -> Certificate {
        var plan = PasskeyCertificatePlan.authority(
            Self.names(of: intermediate), by: Self.names(of: root), intermediate.publicKey, at: time)
        change(&plan)
        return try plan.issue(by: rootKey)
    }

    /// An attestation certificate as section 8.2.1 of Web Authentication Level 3 says, without extensions of a format.
    func leaf(
        _ key: Certificate.PublicKey, by issuer: Certificate, at time: Date
    ) -> PasskeyCertificatePlan {
        var plan = PasskeyCertificatePlan(
            subject: [
                .init(.RDNAttributeType.countryName, "ZZ"),
                .init(.RDNAttributeType.organizationName, "Portcullis Simulation"),
                .init(.RDNAttributeType.organizationalUnitName, "Authenticator Attestation"),
                .init(.RDNAttributeType.commonName, "Simulated Authenticator"),
            ], issuer: Self.names(of: issuer), key: key, at: time, lifetime: 3 * Self.day)
        plan.constraints = .notCertificateAuthority
        return plan
    }

    private static func authority(_ commonName: String) -> [PasskeyCertificatePlan.NamePart] {
        [
            .init(.RDNAttributeType.organizationName, "Portcullis Simulation"),
            .init(.RDNAttributeType.commonName, commonName),
        ]
    }

    private static func names(of certificate: Certificate) -> [PasskeyCertificatePlan.NamePart] {
        certificate.subject.flatMap { $0 }.map { .init($0.type, String($0.value) ?? "") }
    }
}

/// The plan of a certificate, with everything that a forgery may change.
package struct PasskeyCertificatePlan: Sendable {
    /// One attribute of a name, as UTF8String.
    package struct NamePart: Hashable, Sendable {
        package var type: ASN1ObjectIdentifier
        package var text: String

        package init(_ type: ASN1ObjectIdentifier, _ text: String) { (self.type, self.text) = (type, text) }
    }

    package var version = Certificate.Version.v3
    package var subject: [NamePart]
    package var issuer: [NamePart]
    package var key: Certificate.PublicKey
    package var notBefore, notAfter: Date
    /// nil leaves the extension out.
    package var constraints: BasicConstraints?
    package var usage: KeyUsage?
    /// The extensions other than constraints and usage.
    package var extensions: [Certificate.Extension] = []

    /// Valid from a day before `time`.
    package init(
        subject: [NamePart], issuer: [NamePart], key: Certificate.PublicKey, at time: Date, lifetime: TimeInterval
    ) {
        (self.subject, self.issuer, self.key) = (subject, issuer, key)
        notBefore = time - SimulatedVendor.day
        notAfter = time - SimulatedVendor.day + lifetime
    }

    /// A certificate authority, valid for 25 years.
    package static func authority(
        _ subject: [NamePart], by issuer: [NamePart], _ key: Certificate.PublicKey, at time: Date
    ) -> PasskeyCertificatePlan {
        var plan = PasskeyCertificatePlan(
            subject: subject, issuer: issuer, key: key, at: time,
            lifetime: 25 * 365 * SimulatedVendor.day)
        plan.constraints = .isCertificateAuthority(maxPathLength: nil)
        plan.usage = KeyUsage(keyCertSign: true, cRLSign: true)
        return plan
    }

    func issue(by issuerKey: P256.Signing.PrivateKey) throws -> Certificate {
        try issue(by: Certificate.PrivateKey(issuerKey), .ecdsaWithSHA256)
    }

    package func issue(
        by issuerKey: Certificate.PrivateKey, _ algorithm: Certificate.SignatureAlgorithm
    ) throws -> Certificate {
        var all: [Certificate.Extension] = []
        if let constraints { all.append(try Certificate.Extension(constraints, critical: true)) }
        if let usage { all.append(try Certificate.Extension(usage, critical: true)) }
        return try Certificate(
            version: version, serialNumber: Certificate.SerialNumber(), publicKey: key, notValidBefore: notBefore,
            notValidAfter: notAfter, issuer: Self.name(issuer), subject: Self.name(subject),
            signatureAlgorithm: algorithm, extensions: try Certificate.Extensions(all + extensions),
            issuerPrivateKey: issuerKey)
    }

    private static func name(_ parts: [NamePart]) -> DistinguishedName {
        DistinguishedName(
            parts.map { part in
                RelativeDistinguishedName(
                    RelativeDistinguishedName.Attribute(type: part.type, value: .init(utf8String: part.text)))
            })
    }
}
