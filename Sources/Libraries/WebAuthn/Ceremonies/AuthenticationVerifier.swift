import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The parts of an `AuthenticatorAssertionResponse` that are verified.
public struct AuthenticationResponse: Sendable {
    public var clientDataJSON: [UInt8]
    public var authenticatorData: [UInt8]
    public var signature: [UInt8]

    public init(clientDataJSON: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
        self.clientDataJSON = clientDataJSON
        self.authenticatorData = authenticatorData
        self.signature = signature
    }
}

/// Verifies authentications by the steps of Web Authentication Level 3, section 7.2, in the same order, with one
/// function for each step. It reads no clock, keeps no state and does no I/O.
///
/// The caller's are steps 1 to 6: the options, and to find the ``CredentialRecord`` of the credential's identifier (and
/// of the user handle, where no user was identified before). It must ensure that the challenge is its own, fresh and
/// unused. It stores the updated record of step 24, if the stored counter is still the one that was verified against.
public struct AuthenticationVerifier: Sendable {
    let relyingParty: RelyingParty
    let requiresUserVerification: Bool

    /// - Parameter requiresUserVerification: whether `userVerification` of the options is `required`.
    public init(relyingParty: RelyingParty, requiresUserVerification: Bool = true) {
        self.relyingParty = relyingParty
        self.requiresUserVerification = requiresUserVerification
    }

    /// - Parameters:
    ///   - challenge: of the options, not empty.
    ///   - record: of the credential that the client names.
    /// - Throws: the first defect found.
    public func verify(
        _ response: AuthenticationResponse, challenge: [UInt8], credential record: CredentialRecord
    ) throws(CeremonyError) -> VerifiedAuthentication {
        let clientData = try CollectedClientData(json: response.clientDataJSON)  // 8 and 9
        return try verify(
            clientData, response.authenticatorData, response.signature, challenge: challenge, credential: record)
    }

    /// The same with client data that the caller has read, to find its challenge.
    package func verify(
        _ clientData: CollectedClientData, _ authenticatorData: [UInt8], _ signature: [UInt8], challenge: [UInt8],
        credential record: CredentialRecord
    ) throws(CeremonyError) -> VerifiedAuthentication {
        try clientData.verifyType(is: .get)  // 10
        try clientData.verifyChallenge(is: challenge)  // 11
        try clientData.verifyOrigin(of: relyingParty)  // 12
        try clientData.verifyCrossOrigin(relyingParty)  // 13
        try clientData.verifyTopOrigin(relyingParty)  // 14
        let data = try parse(authenticatorData)
        try data.verifyRPIDHash(relyingParty)  // 15
        try data.verifyUserPresence()  // 16
        try data.verifyUserVerification(isRequired: requiresUserVerification)  // 17
        try data.verifyBackupState()  // 18
        let isEligibilityChanged = compareBackup(data, with: record)
        let hash = hashClientData(clientData.json)
        try verifySignature(signature, over: authenticatorData + hash, by: record.publicKey)
        // From here on the authenticator data and the client data are what the credential signed.
        try verifyCounter(data, after: record.signCount)
        return VerifiedAuthentication(
            record: update(record, with: data), isUserVerified: data.flags.contains(.userVerified),
            isBackupEligibilityChanged: isEligibilityChanged, origin: clientData.origin)
    }

    private func parse(_ bytes: [UInt8]) throws(CeremonyError) -> AuthenticatorData {
        guard bytes.count <= WebAuthnLimits.maximumAuthenticatorDataBytes else {
            throw .malformedAuthenticatorData(.tooLarge)
        }
        do { return try AuthenticatorData(bytes) } catch { throw .malformedAuthenticatorData(error) }
    }
}

// Steps that only authentications have, or that have their own words here.
extension AuthenticationVerifier {
    /// 19. "Compare currentBe and currentBs with credentialRecord.backupEligible and credentialRecord.backupState."
    ///
    /// A changed eligibility is told and refuses nobody: authenticators change it with an update of their software.
    private func compareBackup(_ data: AuthenticatorData, with record: CredentialRecord) -> Bool {
        data.flags.contains(.backupEligible) != record.isBackupEligible
    }

    /// 20. "Let hash be the result of computing a hash over the cData using SHA-256."
    private func hashClientData(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// 21. "Using credentialRecord.publicKey, verify that sig is a valid signature over the binary concatenation of
    ///     authData and hash."
    private func verifySignature(
        _ signature: [UInt8], over message: [UInt8], by publicKey: CredentialPublicKey
    ) throws(CeremonyError) {
        do { try publicKey.key.verify(signature, over: message) } catch {
            switch error {
            case .malformed: throw .malformedSignature
            case .mismatch: throw .signatureMismatch
            }
        }
    }

    /// 22. "If authData.signCount is nonzero or credentialRecord.signCount is nonzero … less than or equal to
    /// credentialRecord.signCount: This is a signal, but not proof, that the authenticator may be cloned." It is
    /// refused.
    private func verifyCounter(_ data: AuthenticatorData, after previous: UInt32) throws(CeremonyError) {
        guard data.signCount != 0 || previous != 0 else { return }
        guard data.signCount > previous else {
            throw .counterNotHigher(received: data.signCount, previous: previous)
        }
    }

    /// 24. "Update credentialRecord with new state values." `uvInitialized` stays: a change needs another
    ///     authentication factor.
    private func update(_ record: CredentialRecord, with data: AuthenticatorData) -> CredentialRecord {
        CredentialRecord(
            id: record.id, publicKey: record.publicKey, signCount: data.signCount,
            isBackupEligible: data.flags.contains(.backupEligible), isBackedUp: data.flags.contains(.backedUp),
            isUserVerificationInitialized: record.isUserVerificationInitialized)
    }
}

/// A credential's verified signature over client data. Only ``AuthenticationVerifier`` can create one.
public struct VerifiedAuthentication: Sendable {
    /// The new state: store it before acting on the authentication.
    public let record: CredentialRecord
    /// Whether the authenticator has verified the user, with a PIN or by biometrics.
    public let isUserVerified: Bool
    /// Whether the credential's eligibility for backups isn't the one of the stored record.
    public let isBackupEligibilityChanged: Bool
    /// One of the relying party's.
    public let origin: String
}
