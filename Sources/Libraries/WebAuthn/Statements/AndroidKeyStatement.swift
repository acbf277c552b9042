import CBOR
import X509

/// The Android key attestation statement format (Web Authentication Level 3, section 8.4).
///
/// ```
/// {"alg": number, "sig": bytes, "x5c": [credCert, *caCert]}
/// ```
struct AndroidKeyStatement: Sendable {
    let algorithm: CredentialAlgorithm
    let signature: [UInt8]
    let path: CertificatePath

    /// "Verify that attStmt is valid CBOR conforming to the syntax defined above."
    init(_ map: CBORMap) throws(StatementFault) {
        guard map.hasOnly("alg", "sig", "x5c") else { throw .unknownField }
        algorithm = try map.statementAlgorithm()
        signature = try map.statementSignature()
        path = try map.statementCertificates()
    }

    // The format's steps aren't numbered; these are in its order.
    func verify(_ subject: AttestedSubject) throws(StatementFault) -> AttestationEvidence {
        try verifySignature(subject)
        try path.verifyLeafKey(is: subject.publicKey)
        let description = try AndroidKeyDescription(path.leaf)
        try verifyChallenge(description, is: subject.clientDataHash)
        try verifyApplications(description)
        try verifyOrigin(description)
        try verifyPurpose(description)
        let isInHardware = description.hardware.isGenerated && description.hardware.isForSigning
        return .certified(CertifiedStatement(format: .androidKey, path: path, isInHardware: isInHardware))
    }

    /// "Verify that sig is a valid signature over the concatenation of authenticatorData and clientDataHash using the
    /// public key in the first certificate in x5c with the algorithm specified in alg."
    private func verifySignature(_ subject: AttestedSubject) throws(StatementFault) {
        guard let key = VerifyingKey(path.leaf.publicKey, for: algorithm) else { throw .algorithmMismatch }
        try key.verifyStatement(signature, over: subject.signedBytes)
    }

    /// "Verify that the attestationChallenge field in the attestation certificate extension data is identical to
    /// clientDataHash."
    private func verifyChallenge(
        _ description: AndroidKeyDescription, is clientDataHash: [UInt8]
    ) throws(StatementFault) {
        guard description.challenge == clientDataHash else { throw .attestationChallengeMismatch }
    }

    /// "The AuthorizationList.allApplications field is not present on either authorization list …, since
    /// PublicKeyCredential MUST be scoped to the RP ID."
    private func verifyApplications(_ description: AndroidKeyDescription) throws(StatementFault) {
        guard description.lists.allSatisfy({ !$0.isForAllApplications }) else { throw .keyOfAllApplications }
    }

    /// "The value in the AuthorizationList.origin field is equal to KM_ORIGIN_GENERATED", wherever there is one. A key
    /// in hardware has it in the list that the hardware enforces; the test vectors of the specification have none.
    private func verifyOrigin(_ description: AndroidKeyDescription) throws(StatementFault) {
        guard description.lists.allSatisfy({ $0.origin == nil || $0.isGenerated }) else { throw .keyNotGenerated }
    }

    /// "The value in the AuthorizationList.purpose field is equal to KM_PURPOSE_SIGN", in the same way.
    private func verifyPurpose(_ description: AndroidKeyDescription) throws(StatementFault) {
        guard description.lists.allSatisfy({ $0.purposes == nil || $0.isForSigning }) else { throw .keyNotForSigning }
    }
}
