#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// What both ceremonies verify in the same words. The numbers are those of Web Authentication Level 3, section 7.1 for
// registrations and section 7.2 for authentications.

extension CollectedClientData {
    /// §7.1 step 7, §7.2 step 10. "Verify that the value of C.type is the string `webauthn.create`" or `webauthn.get`.
    func verifyType(is ceremony: CeremonyType) throws(CeremonyError) {
        guard type.utf8.elementsEqual(ceremony.rawValue.utf8) else { throw .typeMismatch }
    }

    /// §7.1 step 8, §7.2 step 11. "Verify that the value of C.challenge equals the base64url encoding of
    /// pkOptions.challenge."
    func verifyChallenge(is bytes: [UInt8]) throws(CeremonyError) {
        let padded = Data(bytes).base64EncodedString().utf8
        let expected = padded.lazy.filter { $0 != UInt8(ascii: "=") }.map { symbol -> UInt8 in
            switch symbol {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: symbol
            }
        }
        guard !bytes.isEmpty, challenge.utf8.elementsEqual(expected) else { throw .challengeMismatch }
    }

    /// §7.1 step 9, §7.2 step 12. "Verify that the value of C.origin is an origin expected by the Relying Party."
    func verifyOrigin(of relyingParty: RelyingParty) throws(CeremonyError) {
        guard Self.has(origin, in: relyingParty.origins) else { throw .originNotAllowed }
    }

    /// §7.1 step 10, §7.2 step 13. "If C.crossOrigin is present and set to true, verify that the Relying Party expects"
    /// the credential to be created or used "within an iframe that is not same-origin with its ancestors."
    func verifyCrossOrigin(_ relyingParty: RelyingParty) throws(CeremonyError) {
        guard !isCrossOrigin || !relyingParty.topOrigins.isEmpty else { throw .crossOriginNotAllowed }
    }

    /// §7.1 step 11, §7.2 step 14. "If C.topOrigin is present … Verify that the value of C.topOrigin matches the origin
    /// of a page that the Relying Party expects to be sub-framed within."
    func verifyTopOrigin(_ relyingParty: RelyingParty) throws(CeremonyError) {
        guard let topOrigin else { return }
        guard Self.has(topOrigin, in: relyingParty.topOrigins) else { throw .topOriginNotAllowed }
    }

    private static func has(_ origin: String, in list: [String]) -> Bool {
        list.contains { $0.utf8.elementsEqual(origin.utf8) }
    }
}

extension AuthenticatorData {
    /// §7.1 step 14, §7.2 step 15. "Verify that the rpIdHash in authData is the SHA-256 hash of the RP ID expected by
    /// the Relying Party."
    func verifyRPIDHash(_ relyingParty: RelyingParty) throws(CeremonyError) {
        guard rpIDHash == relyingParty.idHash else { throw .rpIDHashMismatch }
    }

    /// §7.1 step 15, §7.2 step 16. "Verify that the UP bit of the flags in authData is set." Conditional creation, for
    /// which a registration may lack it, isn't offered.
    func verifyUserPresence() throws(CeremonyError) {
        guard flags.contains(.userPresent) else { throw .userNotPresent }
    }

    /// §7.1 step 16, §7.2 step 17. "If the Relying Party requires user verification …, verify that the UV bit of the
    /// flags in authData is set."
    func verifyUserVerification(isRequired: Bool) throws(CeremonyError) {
        guard !isRequired || flags.contains(.userVerified) else { throw .userNotVerified }
    }

    /// §7.1 step 17, §7.2 step 18. "If the BE bit of the flags in authData is not set, verify that the BS bit is not
    /// set."
    func verifyBackupState() throws(CeremonyError) {
        guard flags.contains(.backupEligible) || !flags.contains(.backedUp) else { throw .backedUpButNotEligible }
    }
}
