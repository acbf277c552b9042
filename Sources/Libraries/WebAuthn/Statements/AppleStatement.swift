import CBOR
import Crypto
import StrictDER
import X509

/// The Apple anonymous attestation statement format (Web Authentication Level 3, section 8.8).
///
/// ```
/// {"x5c": [credCert, *caCert]}
/// ```
///
/// Some systems (iOS 14) add `alg`, which nothing signs: it is accepted if it is the credential's.
struct AppleStatement: Sendable {
    let path: CertificatePath
    let algorithm: CredentialAlgorithm?

    /// 1. "Verify that attStmt is valid CBOR conforming to the syntax defined above."
    init(_ map: CBORMap) throws(StatementFault) {
        guard map.hasOnly("x5c", "alg") else { throw .unknownField }
        path = try map.statementCertificates()
        algorithm = map[StatementField.alg.rawValue] == nil ? nil : try map.statementAlgorithm()
    }

    func verify(_ subject: AttestedSubject) throws(StatementFault) -> AttestationEvidence {
        guard algorithm == nil || algorithm == subject.publicKey.algorithm else { throw .algorithmMismatch }
        try verifyNonce(hashNonce(subject))
        try path.verifyLeafKey(is: subject.publicKey)
        return .certified(CertifiedStatement(format: .apple, path: path))
    }

    /// 2 and 3. "Concatenate authenticatorData and clientDataHash to form nonceToHash. Perform SHA-256 hash of
    /// nonceToHash to produce nonce."
    private func hashNonce(_ subject: AttestedSubject) -> [UInt8] { Array(SHA256.hash(data: subject.signedBytes)) }

    /// 4. "Verify that nonce equals the value of the extension with OID 1.2.840.113635.100.8.2 in credCert."
    private func verifyNonce(_ nonce: [UInt8]) throws(StatementFault) {
        let found: [UInt8]
        do { found = try NonceExtension.nonce(in: path.leaf) } catch {
            switch error {
            case .missing: throw .nonceExtensionMissing
            case .malformed: throw .nonceExtensionMalformed
            }
        }
        guard found == nonce else { throw .nonceMismatch }
    }
}
