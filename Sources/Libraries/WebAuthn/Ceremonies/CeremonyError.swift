/// The first defect found in a ceremony. It contains nothing secret.
///
/// Clients should learn no more than that the ceremony was refused.
public enum CeremonyError: Error, Hashable, Sendable {
    // Both ceremonies: the client data.

    /// Not a strict JSON object (§7.1 step 6, §7.2 step 9).
    case malformedClientData(MalformedJSON)
    /// A required member is missing, or a member has another type.
    case clientDataMember(ClientDataMember)
    /// The client data is of the other ceremony, or of none (§7.1 step 7, §7.2 step 10).
    case typeMismatch
    /// Not the challenge of this ceremony (§7.1 step 8, §7.2 step 11).
    case challengeMismatch
    /// Not an origin of the relying party (§7.1 step 9, §7.2 step 12).
    case originNotAllowed
    /// In a frame of another origin, where the relying party expects none (§7.1 step 10, §7.2 step 13).
    case crossOriginNotAllowed
    /// In a frame of a page that the relying party doesn't expect (§7.1 step 11, §7.2 step 14).
    case topOriginNotAllowed

    // Both ceremonies: the authenticator data.

    /// The authenticator data doesn't have the layout that its flags announce.
    case malformedAuthenticatorData(AuthenticatorDataFault)
    /// For another relying party (§7.1 step 14, §7.2 step 15).
    case rpIDHashMismatch
    /// The authenticator hasn't tested that a user is present (§7.1 step 15, §7.2 step 16).
    case userNotPresent
    /// The authenticator hasn't verified the user, which is required (§7.1 step 16, §7.2 step 17).
    case userNotVerified
    /// Backed up without being eligible for it (§7.1 step 17, §7.2 step 18).
    case backedUpButNotEligible

    // Registration (§7.1).

    /// The attestation object is not strict CBOR (step 13).
    case malformedAttestationObject(MalformedCBOR)
    /// The attestation object is CBOR, but not a map (step 13).
    case attestationObjectNotAMap
    /// A member is missing, or has another type or form (step 13).
    case attestationObjectMember(AttestationObjectMember)
    /// A member that isn't part of an attestation object (step 13).
    case unknownAttestationObjectMember
    /// The key's algorithm isn't one of those that were offered (step 20).
    case algorithmNotAllowed(Int64)
    /// The algorithm was offered, but the key isn't one of it (step 20).
    case publicKey(PublicKeyFault)
    /// The attestation statement isn't correct (step 22).
    case attestationStatement(StatementFault)
    /// The attestation statement isn't trustworthy, and the policy requires that (step 24).
    case attestationNotTrusted(TrustFault)
    /// The credential identifier is longer than ``WebAuthnLimits/maximumCredentialIDBytes`` (step 25).
    case credentialIDTooLong(Int)

    // Authentication (§7.2).

    /// The signature doesn't have its algorithm's form (step 21).
    case malformedSignature
    /// The signature was not made by this credential over this authenticator data and client data (step 21).
    case signatureMismatch
    /// The counter isn't above the last one seen, and one of the two isn't 0: the credential may have been copied (step
    /// 22).
    case counterNotHigher(received: UInt32, previous: UInt32)
}
