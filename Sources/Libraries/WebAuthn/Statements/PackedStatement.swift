import CBOR
import StrictDER
import SwiftASN1
import X509

/// The packed attestation statement format (Web Authentication Level 3, section 8.2).
///
/// ```
/// {"alg": number, "sig": bytes, "x5c": [attestnCert, *caCert]}
/// {"alg": number, "sig": bytes}
/// ```
struct PackedStatement: Sendable {
    let algorithm: CredentialAlgorithm
    let signature: [UInt8]
    /// nil: self attestation.
    let path: CertificatePath?

    /// 1. "Verify that attStmt is valid CBOR conforming to the syntax defined above."
    init(_ map: CBORMap) throws(StatementFault) {
        guard map.hasOnly("alg", "sig", "x5c") else { throw .unknownField }
        algorithm = try map.statementAlgorithm()
        signature = try map.statementSignature()
        path = map[StatementField.x5c.rawValue] == nil ? nil : try map.statementCertificates()
    }

    func verify(_ subject: AttestedSubject) throws(StatementFault) -> AttestationEvidence {
        guard let path else {
            try verifySelfAttestation(subject)
            return .selfSigned
        }
        try verifySignature(subject, by: path.leaf)
        try verifyRequirements(path.leaf)
        try verifyAAGUID(subject, path.leaf)
        return .certified(CertifiedStatement(format: .packed, path: path))
    }

    /// 2. "Verify that sig is a valid signature over the concatenation of authenticatorData and clientDataHash using
    /// the attestation public key in attestnCert with the algorithm specified in alg."
    private func verifySignature(_ subject: AttestedSubject, by leaf: Certificate) throws(StatementFault) {
        guard let key = VerifyingKey(leaf.publicKey, for: algorithm) else { throw .algorithmMismatch }
        try key.verifyStatement(signature, over: subject.signedBytes)
    }

    /// 2. "Verify that attestnCert meets the requirements in" section 8.2.1.
    private func verifyRequirements(_ leaf: Certificate) throws(StatementFault) {
        guard leaf.version == .v3 else { throw .certificateVersion }
        try PackedSubject(leaf).verify()
        let constraints: BasicConstraints?
        do { constraints = try leaf.extensions.basicConstraints } catch { throw .certificateConstraints }
        guard case .notCertificateAuthority? = constraints else { throw .certificateConstraints }
    }

    /// 2. "If attestnCert contains an extension with OID 1.3.6.1.4.1.45724.1.1.4 (id-fido-gen-ce-aaguid) verify that
    /// the value of this extension matches the aaguid in authenticatorData." It "MUST NOT be marked as critical".
    private func verifyAAGUID(_ subject: AttestedSubject, _ leaf: Certificate) throws(StatementFault) {
        guard let found = leaf.extensions[oid: AAGUIDExtension.oid] else { return }
        guard !found.critical, found.value.count == 18, found.value.starts(with: AAGUIDExtension.prefix) else {
            throw .aaguidExtensionMalformed
        }
        guard found.value.dropFirst(2).elementsEqual(subject.credential.aaguid) else { throw .aaguidMismatch }
    }

    /// 3. "Validate that alg matches the algorithm of the credentialPublicKey in authenticatorData. Verify that sig is
    /// a valid signature over the concatenation of authenticatorData and clientDataHash using the credential public key
    /// with alg."
    private func verifySelfAttestation(_ subject: AttestedSubject) throws(StatementFault) {
        guard algorithm == subject.publicKey.algorithm else { throw .algorithmMismatch }
        try subject.publicKey.key.verifyStatement(signature, over: subject.signedBytes)
    }
}

/// The extension id-fido-gen-ce-aaguid: an octet string of 16 bytes, which has one DER encoding.
private enum AAGUIDExtension {
    static let oid: ASN1ObjectIdentifier = [1, 3, 6, 1, 4, 1, 45724, 1, 1, 4]
    static let prefix: [UInt8] = [0x04, 0x10]
}

/// The subject of an attestation certificate (section 8.2.1). Vendors write the texts as UTF8String and PrintableString
/// alike.
private struct PackedSubject {
    private static let unit = "Authenticator Attestation"

    private let attributes: [RelativeDistinguishedName.Attribute]

    init(_ certificate: Certificate) { attributes = certificate.subject.flatMap { $0 } }

    func verify() throws(StatementFault) {
        let country = try text(.RDNAttributeType.countryName, .country)
        guard country.utf8.count == 2, country.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw .certificateSubject(.country) }
        _ = try text(.RDNAttributeType.organizationName, .organization)
        let unit = try text(.RDNAttributeType.organizationalUnitName, .organizationalUnit)
        guard unit.utf8.elementsEqual(Self.unit.utf8) else { throw .certificateSubject(.organizationalUnit) }
        _ = try text(.RDNAttributeType.commonName, .commonName)
    }

    /// The only attribute of the type, as text that isn't empty.
    private func text(_ type: ASN1ObjectIdentifier, _ part: SubjectPart) throws(StatementFault) -> String {
        let found = attributes.filter { $0.type == type }
        guard found.count == 1, let text = String(found[0].value), !text.utf8.isEmpty else {
            throw .certificateSubject(part)
        }
        return text
    }
}
