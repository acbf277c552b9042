import Crypto
import X509

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The parts of an `AuthenticatorAttestationResponse` that are verified.
public struct RegistrationResponse: Sendable {
    public var clientDataJSON: [UInt8]
    public var attestationObject: [UInt8]

    public init(clientDataJSON: [UInt8], attestationObject: [UInt8]) {
        self.clientDataJSON = clientDataJSON
        self.attestationObject = attestationObject
    }
}

/// Verifies registrations by the steps of Web Authentication Level 3, section 7.1, in the same order, with one function
/// for each step. It reads no clock, keeps no state and does no I/O.
///
/// The caller's are steps 1 to 4, the options, and 26 and 29: the credential's identifier must not be registered yet,
/// for any user, and is stored in the same transaction. It must ensure that the challenge is its own, fresh and unused.
public struct RegistrationVerifier: Sendable {
    let relyingParty: RelyingParty
    let policy: RegistrationPolicy

    public init(relyingParty: RelyingParty, policy: RegistrationPolicy = RegistrationPolicy()) {
        self.relyingParty = relyingParty
        self.policy = policy
    }

    /// - Parameters:
    ///   - challenge: of the options, not empty.
    ///   - time: the time at which certificates must be valid.
    /// - Throws: the first defect found.
    public func verify(
        _ response: RegistrationResponse, challenge: [UInt8], at time: Date
    ) async throws(CeremonyError) -> VerifiedRegistration {
        let clientData = try CollectedClientData(json: response.clientDataJSON)  // 5 and 6
        try clientData.verifyType(is: .create)  // 7
        try clientData.verifyChallenge(is: challenge)  // 8
        try clientData.verifyOrigin(of: relyingParty)  // 9
        try clientData.verifyCrossOrigin(relyingParty)  // 10
        try clientData.verifyTopOrigin(relyingParty)  // 11
        let hash = hashClientData(response.clientDataJSON)
        let object = try decode(response.attestationObject)
        let (data, credential) = try parse(object.authenticatorData)
        try data.verifyRPIDHash(relyingParty)  // 14
        try data.verifyUserPresence()  // 15
        try data.verifyUserVerification(isRequired: policy.requiresUserVerification)  // 16
        try data.verifyBackupState()  // 17. Steps 18 and 19 are for policies that aren't offered.
        let publicKey = try verifyAlgorithm(credential)
        let statement = try determineFormat(object)
        let subject = AttestedSubject(
            authenticatorData: object.authenticatorData, clientDataHash: hash, credential: credential,
            publicKey: publicKey, rpIDHash: data.rpIDHash)
        let evidence = try verifyStatement(statement, about: subject)
        let anchors = findAnchors(evidence)
        let attestation = try await assessTrust(evidence, anchors, at: time)
        try verifyCredentialID(credential)
        return VerifiedRegistration(
            record: makeRecord(data, credential, publicKey), aaguid: credential.aaguid, attestation: attestation,
            isUserVerified: data.flags.contains(.userVerified), origin: clientData.origin)
    }
}

// Steps that only registrations have, or that have their own words here.
extension RegistrationVerifier {
    /// 12. "Let hash be the result of computing a hash over response.clientDataJSON using SHA-256."
    private func hashClientData(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// 13. "Perform CBOR decoding on the attestationObject … to obtain the attestation statement format fmt, the
    /// authenticator data authData, and the attestation statement attStmt."
    private func decode(_ bytes: [UInt8]) throws(CeremonyError) -> AttestationObject { try AttestationObject(bytes) }

    private func parse(
        _ bytes: [UInt8]
    ) throws(CeremonyError) -> (data: AuthenticatorData, credential: AttestedCredential) {
        let data: AuthenticatorData
        do { data = try AuthenticatorData(bytes) } catch { throw .malformedAuthenticatorData(error) }
        guard let credential = data.credential else { throw .malformedAuthenticatorData(.credentialMissing) }
        return (data, credential)
    }

    /// 20. "Verify that the "alg" parameter in the credential public key in authData matches the alg attribute of one
    /// of the items in pkOptions.pubKeyCredParams."
    ///
    /// The other parameters must be those of that algorithm, and a point of a NIST curve must be on it.
    private func verifyAlgorithm(_ credential: AttestedCredential) throws(CeremonyError) -> CredentialPublicKey {
        let number = credential.key.algorithm
        guard policy.algorithms.contains(where: { $0.rawValue == number }) else { throw .algorithmNotAllowed(number) }
        do { return try CredentialPublicKey(credential.key) } catch { throw .publicKey(error) }
    }

    /// 21. "Determine the attestation statement format by performing a USASCII case-sensitive match on fmt against the
    /// set of supported WebAuthn Attestation Statement Format Identifier values."
    private func determineFormat(_ object: AttestationObject) throws(CeremonyError) -> AttestationStatement {
        do { return try AttestationStatement(format: object.format, object.statement) } catch {
            throw .attestationStatement(error)
        }
    }

    /// 22. "Verify that attStmt is a correct attestation statement, conveying a valid attestation signature, by using
    /// the attestation statement format fmt's verification procedure given attStmt, authData and hash."
    private func verifyStatement(
        _ statement: AttestationStatement, about subject: AttestedSubject
    ) throws(CeremonyError) -> AttestationEvidence {
        do { return try statement.verify(subject) } catch { throw .attestationStatement(error) }
    }

    /// 23. "If validation is successful, obtain a list of acceptable trust anchors … for that attestation type and
    /// attestation statement format fmt, from a trusted source or from policy."
    private func findAnchors(_ evidence: AttestationEvidence) -> [Certificate] {
        guard case .certified(let certified) = evidence else { return [] }
        return policy.anchors[certified.format] ?? []
    }

    /// 24. "Assess the attestation trustworthiness using the outputs of the verification procedure."
    ///
    /// "If the attestation statement is not deemed trustworthy, the Relying Party SHOULD fail the registration
    /// ceremony": with ``AttestationRequirement/required``.
    private func assessTrust(
        _ evidence: AttestationEvidence, _ anchors: [Certificate], at time: Date
    ) async throws(CeremonyError) -> CredentialAttestation {
        let attestation = await evidence.assess(anchors, at: time)
        guard policy.attestation == .required, let fault = attestation.fault else { return attestation }
        throw .attestationNotTrusted(fault)
    }

    /// 25. "Verify that the credentialId is ≤ 1023 bytes."
    private func verifyCredentialID(_ credential: AttestedCredential) throws(CeremonyError) {
        guard credential.id.count <= WebAuthnLimits.maximumCredentialIDBytes else {
            throw .credentialIDTooLong(credential.id.count)
        }
    }

    /// 27. "Let credentialRecord be a new credential record with the following contents …"
    private func makeRecord(
        _ data: AuthenticatorData, _ credential: AttestedCredential, _ publicKey: CredentialPublicKey
    ) -> CredentialRecord {
        CredentialRecord(
            id: credential.id, publicKey: publicKey, signCount: data.signCount,
            isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: data.flags.contains(.backedUp),
            isUserVerificationInitialized: data.flags.contains(.userVerified))
    }
}

/// A new credential for this relying party. Only ``RegistrationVerifier`` can create one.
///
/// Without a trusted ``attestation`` it is what the client says it is: nothing proves which authenticator has made it.
public struct VerifiedRegistration: Sendable {
    /// Store it with the user's account, if no account has a credential with its identifier.
    public let record: CredentialRecord
    /// 16 bytes: the model of the authenticator, or zeros. Only a trusted ``attestation`` in another format than
    /// `fido-u2f` vouches for it.
    public let aaguid: [UInt8]
    public let attestation: CredentialAttestation
    /// Whether the authenticator has verified the user, with a PIN or by biometrics.
    public let isUserVerified: Bool
    /// One of the relying party's.
    public let origin: String
}
