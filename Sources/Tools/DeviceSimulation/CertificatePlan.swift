import AppAttest
import Crypto
import FoundationEssentials
import StrictDER
import SwiftASN1
import X509

/// The plan of a certificate, with everything that a forgery may change.
struct CertificatePlan {
    var version = Certificate.Version.v3
    var subject: String
    var issuer: String
    var key: Certificate.PublicKey
    var notBefore: Date
    var notAfter: Date
    /// nil leaves the extension out.
    var constraints: BasicConstraints?
    var usage: KeyUsage?
    /// The extensions other than constraints and usage.
    var extensions: [Certificate.Extension] = []
    /// Apple signs leaves with SHA-256 and a P-384 key.
    var algorithm = Certificate.SignatureAlgorithm.ecdsaWithSHA384

    /// An intermediate like Apple's, valid from a day before `time`.
    static func intermediate(
        _ names: SimulatedAuthority.Names, key: P384.Signing.PublicKey, at time: Date
    ) -> CertificatePlan {
        CertificatePlan(
            subject: names.intermediate, issuer: names.root, key: Certificate.PublicKey(key),
            notBefore: time - SimulatedAuthority.day, notAfter: time + SimulatedAuthority.intermediateLifetime,
            constraints: .isCertificateAuthority(maxPathLength: 0),
            usage: KeyUsage(keyCertSign: true, cRLSign: true))
    }

    /// A leaf like Apple's without the nonce: valid from a day before `time` for `lifetime`.
    static func leaf(
        _ names: SimulatedAuthority.Names, keyID: [UInt8], key: Certificate.PublicKey, at time: Date,
        lifetime: TimeInterval
    ) -> CertificatePlan {
        CertificatePlan(
            subject: keyID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), issuer: names.intermediate,
            key: key, notBefore: time - SimulatedAuthority.day, notAfter: time - SimulatedAuthority.day + lifetime,
            constraints: .notCertificateAuthority,
            usage: KeyUsage(
                digitalSignature: true, nonRepudiation: true, keyEncipherment: true, dataEncipherment: true),
            algorithm: .ecdsaWithSHA256)
    }

    func issue(by issuerKey: P384.Signing.PrivateKey) throws -> Certificate {
        try Certificate(
            version: version, serialNumber: Certificate.SerialNumber(), publicKey: key, notValidBefore: notBefore,
            notValidAfter: notAfter, issuer: try Self.name(issuer), subject: try Self.name(subject),
            signatureAlgorithm: algorithm, extensions: try allExtensions(),
            issuerPrivateKey: Certificate.PrivateKey(issuerKey))
    }

    private func allExtensions() throws -> Certificate.Extensions {
        var all: [Certificate.Extension] = []
        if let constraints { all.append(try Certificate.Extension(constraints, critical: true)) }
        if let usage { all.append(try Certificate.Extension(usage, critical: true)) }
        return try Certificate.Extensions(all + extensions)
    }

    private static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName {
            CommonName(commonName)
            OrganizationName("Portcullis Simulation")
            StateOrProvinceName("Nowhere")
        }
    }

    /// The leaf's nonce extension with an arbitrary value.
    static func nonceExtension(_ value: [UInt8]) -> Certificate.Extension {
        Certificate.Extension(oid: NonceExtension.oid, critical: false, value: value[...])
    }

    /// An extension that no verifier knows.
    static func unknownExtension(critical: Bool) -> Certificate.Extension {
        Certificate.Extension(oid: [1, 2, 840, 113_635, 100, 8, 99], critical: critical, value: [0x05, 0x00])
    }
}

extension Certificate {
    var derBytes: [UInt8] {
        get throws {
            var serializer = DER.Serializer()
            try serializer.serialize(self)
            return serializer.serializedBytes
        }
    }

    /// The certificate's DER, signed again after a change to its signed part: for content that X509 refuses to write.
    func resigned(
        by key: P384.Signing.PrivateKey, changing change: (inout [UInt8]) -> Void
    ) throws -> [UInt8] {
        var signed = Array(tbsCertificateBytes)
        change(&signed)
        let signature = try key.signature(for: SHA256.hash(data: signed)).derRepresentation
        return try assemble(signed, signature: Array(signature))
    }

    /// The DER of a certificate with this certificate's signature algorithm.
    func assemble(
        _ signed: [UInt8], algorithm: [UInt8]? = nil, signature: [UInt8], unusedBits: UInt8 = 0
    ) throws -> [UInt8] {
        // The outer algorithm is the second of the certificate's three parts.
        guard case .constructed(let parts) = try DER.parse(derBytes).content else { return [] }
        var serializer = DER.Serializer()
        serializer.appendConstructedNode(identifier: .sequence) { coder in
            coder.serializeRawBytes(signed)
            coder.serializeRawBytes(algorithm ?? Array(parts)[1].encodedBytes.map { $0 })
            coder.appendPrimitiveNode(identifier: .bitString) { $0 += [unusedBits] + signature }
        }
        return serializer.serializedBytes
    }
}
