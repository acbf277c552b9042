import WireText

extension AdmissionCheck {
    /// The failed check of an audit line that doesn't name it: earlier versions wrote only a code and a detail.
    ///
    /// - Returns: nil for a code that no version has written.
    package init?(code: String, detail: String) {
        self.init(code: code, detail: detail, mayBeOverLimit: true)
    }

    private init?(code: String, detail: String, mayBeOverLimit: Bool) {
        // A refusal above the limit of failed upgrades: "over …; code: detail". One level, whatever the file says.
        if mayBeOverLimit, code.hasSameBytes(as: RefusalCode.rateLimited.rawValue),
            let inner = Self.innerRefusal(of: detail)
        {
            self.init(code: inner.code, detail: inner.detail, mayBeOverLimit: false)
            return
        }
        guard let code = RefusalCode(word: code) else { return nil }
        self = Self.named(in: detail) ?? Self.sentences.first { detail.hasBytePrefix($0.key) }?.value ?? code.usualCheck
    }

    /// "over …; code: detail"
    private static func innerRefusal(of detail: String) -> (code: String, detail: String)? {
        let parts = detail.splitAtBytes(maxSplits: 1) { $0 == UInt8(ascii: ";") }
        guard parts.count == 2, parts[1].hasBytePrefix(" ") else { return nil }
        let inner = parts[1].droppingBytes(1).splitAtBytes(maxSplits: 1) { $0 == UInt8(ascii: ":") }
        guard inner.count == 2 else { return nil }
        return (String(inner[0]), String(Substring(inner[1].utf8.drop { $0 == 0x20 })))
    }

    /// "proof: methodMismatch" and the like: a verifier's error behind its kind.
    private static func named(in detail: String) -> AdmissionCheck? {
        let parts = detail.splitAtBytes(maxSplits: 1) { $0 == UInt8(ascii: ":") }
        guard parts.count == 2 else { return nil }
        let name = ByteText(String(Substring(parts[1].utf8.dropFirst().prefix { $0 != UInt8(ascii: "(") })))
        switch WireWord(parts[0]) {
        case "assertion", "attestation": return apple[name]?(detail.hasBytePrefix("assertion"))
        case "proof": return proofs[name]
        case "access token": return tokens[name]
        default: return nil
        }
    }

    /// By the names of `AttestationError` and `AssertionError`, some of which are the same.
    private static let apple: [ByteText: @Sendable (_ isAssertion: Bool) -> AdmissionCheck] = {
        var table: [ByteText: @Sendable (Bool) -> AdmissionCheck] = [:]
        for name: ByteText in ["malformedObject", "notAMap", "unreadableField", "unknownField", "unknownFormat"] {
            table[name] = { $0 ? .assertionForm : .attestationForm }
        }
        for name: ByteText in [
            "certificateCount", "malformedCertificate", "duplicateExtension", "unknownCriticalExtension",
            "certificateExpired", "certificateNotYetValid", "intermediateNotCertificateAuthority",
            "leafIsCertificateAuthority", "intermediateKeyNotECDSA", "untrustedChain",
        ] { table[name] = { _ in .certificates } }
        for name: ByteText in ["nonceExtensionMissing", "nonceExtensionMalformed", "nonceMismatch"] {
            table[name] = { _ in .attestedChallenge }
        }
        for name: ByteText in ["invalidPublicKey", "malformedSignature", "signatureMismatch"] {
            table[name] = { _ in .signature }
        }
        for name: ByteText in ["leafKeyNotP256", "keyIDMismatch"] { table[name] = { _ in .keyID } }
        for name: ByteText in ["unknownEnvironment", "environmentNotAllowed"] { table[name] = { _ in .environment } }
        for name: ByteText in ["credentialIDMismatch", "credentialKeyMismatch"] { table[name] = { _ in .credentialID } }
        for name: ByteText in ["validationCategoryMissing", "validationCategoryNotAllowed"] {
            table[name] = { _ in .validationCategory }
        }
        table["malformedAuthenticatorData"] = { _ in .authenticatorData }
        table["rpIDHashMismatch"] = { _ in .appID }
        table["counterNotZero"] = { _ in .attestedCounter }
        table["counterNotHigher"] = { _ in .counter }
        return table
    }()

    /// By the names of `ProofRefusal`.
    private static let proofs: [ByteText: AdmissionCheck] = [
        "tokenNotBound": .tokenBound, "tokenWithoutProof": .proof, "missing": .proof, "severalFields": .proof,
        "malformed": .proofForm, "claim": .proofForm, "methodMismatch": .htm, "uriMismatch": .htu,
        "nonceMissing": .serverNonce, "nonceUnknown": .serverNonce, "clockSkew": .iat,
        "outsideItsValidity": .proofValidity, "tokenHashMissing": .ath, "tokenHashMismatch": .ath, "jwk": .proofKey,
        "jwkMissing": .proofKey, "keyMismatch": .tokenKey, "signatureMismatch": .proofSignature, "replayed": .replay,
        "keyLimit": .replay, "storeFull": .replay, "undecidable": .replay, "perhapsInEarlierLife": .replay,
        "storeUnavailable": .replay,
        "another key than device_key_jwk": .deviceKey, "dpop is another one than the header's": .deviceKey,
    ]

    /// By the names of `AccessTokenRefusal`.
    private static let tokens: [ByteText: AdmissionCheck] = [
        "malformed": .tokenForm, "unknownKey": .tokenSignature, "signatureMismatch": .tokenSignature,
        "claim": .tokenClaims, "notBound": .tokenClaims, "wrongIssuer": .tokenIssuer, "wrongAudience": .tokenAudience,
        "expired": .tokenLifetime, "notYetValid": .tokenLifetime,
    ]

    /// Beginnings of details that say more than the code.
    private static let sentences: KeyValuePairs<String, AdmissionCheck> = [
        "assertion headers are incomplete": .assertionFields, "App Attest is not configured": .assertionFields,
        "key's app, environment or trust root": .keyScope,
        "the key's app, environment or trust root": .keyScope,
        "key is not registered": .keyRegistered, "the token's key is not registered": .keyRegistered,
        "key is revoked": .keyRevoked, "the token's key is revoked": .keyRevoked,
        "key was attested for another app": .claimedApp, "attestation is for another app": .claimedApp,
        "counter was used": .counterStored, "key was forgotten meanwhile": .counterStored,
        "key was revoked meanwhile": .counterStored,
        "TLS session was resumed": .certificateFresh, "client certificate has expired since": .certificateLifetime,
        "authorization:": .authorization, "no Authorization field": .authorization,
        "the subject of the token": .tokenSubject, "development token": .developmentToken,
        "there is no signing key": .signingKey, "too many re": .queue,
        "the address is on the block list": .blockList, "the route": .route, "the development token is not for": .route,
    ]
}
