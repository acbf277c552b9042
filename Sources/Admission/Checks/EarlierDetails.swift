extension AdmissionCheck {
    /// The failed check of an audit line that doesn't name it: earlier versions wrote only a code and a detail.
    ///
    /// - Returns: nil for a code that no version has written.
    package init?(code: String, detail: String) {
        self.init(code: code, detail: detail, mayBeOverLimit: true)
    }

    private init?(code: String, detail: String, mayBeOverLimit: Bool) {
        // A refusal above the limit of failed upgrades: "over …; code: detail". One level, whatever the file says.
        if mayBeOverLimit, code == RefusalCode.rateLimited.rawValue, let inner = detail.range(ofFirst: "; "),
            let colon = detail[inner.upperBound...].firstIndex(of: ":")
        {
            let rest = detail[detail.index(after: colon)...].drop { $0 == " " }
            self.init(
                code: String(detail[inner.upperBound..<colon]), detail: String(rest), mayBeOverLimit: false)
            return
        }
        guard let code = RefusalCode(rawValue: code) else { return nil }
        self = Self.named(in: detail) ?? Self.sentences.first { detail.hasPrefix($0.key) }?.value ?? code.usualCheck
    }

    /// "proof: methodMismatch" and the like: a verifier's error behind its kind.
    private static func named(in detail: String) -> AdmissionCheck? {
        guard let colon = detail.firstIndex(of: ":") else { return nil }
        let name = detail[colon...].dropFirst(2).prefix { $0 != "(" }
        switch detail[..<colon] {
        case "assertion", "attestation": return apple[String(name)]?(detail.hasPrefix("assertion"))
        case "proof": return proofs[String(name)]
        case "access token": return tokens[String(name)]
        default: return nil
        }
    }

    /// By the names of `AttestationError` and `AssertionError`, some of which are the same.
    private static let apple: [String: @Sendable (_ isAssertion: Bool) -> AdmissionCheck] = {
        var table: [String: @Sendable (Bool) -> AdmissionCheck] = [:]
        for name in ["malformedObject", "notAMap", "unreadableField", "unknownField", "unknownFormat"] {
            table[name] = { $0 ? .assertionForm : .attestationForm }
        }
        for name in [
            "certificateCount", "malformedCertificate", "duplicateExtension", "unknownCriticalExtension",
            "certificateExpired", "certificateNotYetValid", "intermediateNotCertificateAuthority",
            "leafIsCertificateAuthority", "intermediateKeyNotECDSA", "untrustedChain",
        ] { table[name] = { _ in .certificates } }
        for name in ["nonceExtensionMissing", "nonceExtensionMalformed", "nonceMismatch"] {
            table[name] = { _ in .attestedChallenge }
        }
        for name in ["invalidPublicKey", "malformedSignature", "signatureMismatch"] {
            table[name] = { _ in .signature }
        }
        for name in ["leafKeyNotP256", "keyIDMismatch"] { table[name] = { _ in .keyID } }
        for name in ["unknownEnvironment", "environmentNotAllowed"] { table[name] = { _ in .environment } }
        for name in ["credentialIDMismatch", "credentialKeyMismatch"] { table[name] = { _ in .credentialID } }
        for name in ["validationCategoryMissing", "validationCategoryNotAllowed"] {
            table[name] = { _ in .validationCategory }
        }
        table["malformedAuthenticatorData"] = { _ in .authenticatorData }
        table["rpIDHashMismatch"] = { _ in .appID }
        table["counterNotZero"] = { _ in .attestedCounter }
        table["counterNotHigher"] = { _ in .counter }
        return table
    }()

    /// By the names of `ProofRefusal`.
    private static let proofs: [String: AdmissionCheck] = [
        "tokenNotBound": .tokenBound, "tokenWithoutProof": .proof, "missing": .proof, "severalFields": .proof,
        "malformed": .proofForm, "claim": .proofForm, "methodMismatch": .htm, "uriMismatch": .htu,
        "nonceMissing": .serverNonce, "nonceUnknown": .serverNonce, "clockSkew": .iat,
        "outsideItsValidity": .proofValidity, "tokenHashMissing": .ath, "tokenHashMismatch": .ath, "jwk": .proofKey,
        "jwkMissing": .proofKey, "keyMismatch": .tokenKey, "signatureMismatch": .proofSignature, "replayed": .replay,
        "keyLimit": .replay, "storeFull": .replay, "undecidable": .replay,
        "another key than device_key_jwk": .deviceKey, "dpop is another one than the header's": .deviceKey,
    ]

    /// By the names of `AccessTokenRefusal`.
    private static let tokens: [String: AdmissionCheck] = [
        "malformed": .tokenForm, "unknownKey": .tokenSignature, "signatureMismatch": .tokenSignature,
        "claim": .tokenClaims, "notBound": .tokenClaims, "wrongIssuer": .tokenIssuer, "wrongAudience": .tokenAudience,
        "expired": .tokenLifetime, "notYetValid": .tokenLifetime,
    ]

    /// Beginnings of details that say more than the code.
    private static let sentences: [String: AdmissionCheck] = [
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

extension String {
    fileprivate func range(ofFirst words: String) -> Range<Index>? {
        indices.lazy.map { self[$0...] }.first { $0.hasPrefix(words) }.map {
            $0.startIndex..<index($0.startIndex, offsetBy: words.count)
        }
    }
}
