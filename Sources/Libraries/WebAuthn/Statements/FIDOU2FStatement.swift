import CBOR
import Crypto
import X509

/// The FIDO U2F attestation statement format (Web Authentication Level 3, section 8.6).
///
/// ```
/// {"x5c": [attestnCert], "sig": bytes}
/// ```
///
/// The signature doesn't cover the flags, the counter and the AAGUID of the authenticator data: U2F has none of them.
struct FIDOU2FStatement: Sendable {
    let signature: [UInt8]
    let path: CertificatePath

    /// 1. "Verify that attStmt is valid CBOR conforming to the syntax defined above." 2. "Check that x5c has exactly
    ///    one element."
    init(_ map: CBORMap) throws(StatementFault) {
        guard map.hasOnly("x5c", "sig") else { throw .unknownField }
        signature = try map.statementSignature()
        path = try map.statementCertificates()
        guard path.certificates.count == 1 else { throw .certificateCount(path.certificates.count) }
    }

    func verify(_ subject: AttestedSubject) throws(StatementFault) -> AttestationEvidence {
        let key = try certificateKey()
        let point = try convertKey(subject.publicKey)
        try verifySignature(over: composeVerificationData(subject, point), by: key)
        return .certified(CertifiedStatement(format: .fidoU2F, path: path))
    }

    /// 2. "If certificate public key is not an Elliptic Curve (EC) public key over the P-256 curve, terminate this
    /// algorithm and return an appropriate error."
    private func certificateKey() throws(StatementFault) -> VerifyingKey {
        guard let key = VerifyingKey(path.leaf.publicKey, for: .es256) else { throw .certificateKeyNotP256 }
        return key
    }

    /// 4. "Convert the COSE_KEY formatted credentialPublicKey … to Raw ANSI X9.62 public key format."
    private func convertKey(_ publicKey: CredentialPublicKey) throws(StatementFault) -> [UInt8] {
        guard case .es256(let key) = publicKey.key else { throw .credentialKeyNotP256 }
        return Array(key.x963Representation)
    }

    /// 5. "Let verificationData be the concatenation of (0x00 || rpIdHash || clientDataHash || credentialId ||
    ///    publicKeyU2F)."
    private func composeVerificationData(_ subject: AttestedSubject, _ point: [UInt8]) -> [UInt8] {
        [0x00] + subject.rpIDHash + subject.clientDataHash + subject.credential.id + point
    }

    /// 6. "Verify the sig using verificationData and the certificate public key."
    private func verifySignature(over data: [UInt8], by key: VerifyingKey) throws(StatementFault) {
        try key.verifyStatement(signature, over: data)
    }
}
