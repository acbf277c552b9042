import WireText

/// The checks of each kind of decision, in the order in which they are made. A test holds them against what the
/// verifiers do.
package enum CheckOrder {
    /// What an event of the audit log was about.
    package enum Event: String, CaseIterable, Sendable {
        case upgrade, ticket, registration, token, authorization, account
    }

    /// - Parameters:
    ///   - method: the label of the method that the client used or tried.
    ///   - check: the failed one, which tells dialects of one endpoint apart; nil if none failed.
    package static func checks(
        of event: Event, by method: String, failed check: AdmissionCheck? = nil
    ) -> [AdmissionCheck] {
        let possible =
            switch event {
            case .upgrade: [policies + MethodChecks.own(of: method) + [.lease, .auditLog, .time]]
            case .ticket: [ticketPolicies + MethodChecks.own(of: method) + [.holder, .ticketRoom, .auditLog]]
            case .registration: [registration, registrationWithProof, signedRegistration]
            case .token:
                method.hasSameBytes(as: MethodChecks.developmentLabel) ? [developer, device] : [device, developer]
            case .authorization:
                method.hasSameBytes(as: MethodChecks.signedLabel)
                    ? [signedAuthorization, authorization] : [authorization, signedAuthorization]
            case .account: [signIn, accountChange, refresh, signedIn]
            }
        let fitting = check.flatMap { check in possible.first { $0.contains(check) } } ?? possible[0]
        return fitting.enumerated().filter { fitting.firstIndex(of: $0.element) == $0.offset }.map(\.element)
    }

    /// The gate's, in its order. The route is among the method's own: some credentials don't claim a method.
    private static let policies: [AdmissionCheck] = [
        .handshake, .draining, .blockList, .origin, .capacity, .rateLimit, .sharedSecret,
    ]
    private static let ticketPolicies: [AdmissionCheck] = [
        .body, .draining, .blockList, .origin, .rateLimit, .sharedSecret,
    ]

    /// Of an assertion. Apple's steps, in its order.
    ///
    /// At `/token` a proof that was used is found before them. That there is no room for it is found after them.
    static let assertion: [AdmissionCheck] = [
        .assertionForm, .signature, .authenticatorData, .appID, .counter, .validationCategory, .counterStored,
    ]
    /// Of an attestation. Apple's steps, in its order.
    private static let attestation: [AdmissionCheck] = [
        .attestationForm, .certificates, .attestedChallenge, .keyID, .authenticatorData, .appID, .attestedCounter,
        .environment, .credentialID, .validationCategory,
    ]
    /// Of a proof, up to its use.
    private static let proof: [AdmissionCheck] = [
        .proof, .proofForm, .htm, .htu, .serverNonce, .iat, .proofValidity, .ath, .proofKey, .tokenKey, .proofSignature,
    ]
    static let key: [AdmissionCheck] = [.keyStore, .keyRegistered, .keyRevoked, .keyScope]

    /// Of an access token, up to what is specific to upgrades and to requests of HTTP services.
    static let accessToken: [AdmissionCheck] =
        [
            .authorization, .tokenForm, .tokenSignature, .tokenClaims, .tokenIssuer, .tokenAudience, .tokenLifetime,
            .tokenSubject,
        ] + key + [.account, .developmentToken]
    static let proofOfToken: [AdmissionCheck] = [.tokenBound] + proof + [.replay]

    /// Of a passkey's use (§7.2), in the order of its steps.
    private static let ceremony: [AdmissionCheck] = [
        .passkeyClientData, .challenge, .passkeyOrigin, .authenticatorData, .relyingParty, .userPresence, .backupState,
    ]
    private static let signIn: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [.blockList, .challenge, .keyStore, .passkeyKnown] + ceremony
        + [.signature, .counter, .account, .developmentToken, .replay, .counterStored, .signingKey, .auditLog]
    /// What a player does with an account, behind the credential that is shown for it. A registration is §7.1.
    private static let accountChange: [AdmissionCheck] =
        [.queue, .rateLimit, .body, .draining, .blockList, .sharedSecret, .credential, .signUp, .freshPasskey]
        + ceremony + [
            .attestationForm, .passkeyAlgorithm, .attestationStatement, .attestationTrust, .credentialID, .signature,
        ] + key + [.assertionForm, .appID, .counter, .counterStored, .keyStored, .accountRoom, .auditLog]

    private static let refresh: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [.replay, .keyStore, .refreshKnown, .refreshKey, .refreshLifetime]
        + [.refreshUnused, .refreshRepeat, .blockList, .account, .developmentToken, .signingKey, .auditLog]

    /// Of what a player does with his access token, such as a log-out.
    private static let signedIn: [AdmissionCheck] =
        [.blockList, .rateLimit] + accessToken + [.identityBlocked] + proofOfToken + [
            .credential, .queue, .body, .auditLog,
        ]

    private static let registration: [AdmissionCheck] =
        [.queue, .rateLimit, .body, .challenge] + attestation + [.keyRevoked, .auditLog, .keyStored]
    private static let registrationWithProof: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [.deviceKey, .challenge, .replay] + attestation
        + [.claimedApp, .keyRevoked, .auditLog, .keyStored]
    private static let device: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [.deviceKey, .blockList] + key + [.challenge, .replay]
        + assertion.filter { $0 != .counterStored } + [.claimedApp, .counterStored, .signingKey, .auditLog]
    private static let developer: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + proof + [
            .deviceKey, .developmentToken, .blockList, .replay, .signingKey, .auditLog,
        ]
    /// Of a request that is signed by itself: its form, then what the store knows. The challenge is spent behind the
    /// signature.
    static let signedRequest: [AdmissionCheck] = signedForm + [.challenge] + key + assertion + [.counterRise]
    private static let signedForm: [AdmissionCheck] = [.signedFields, .clientData, .bodyDigest, .htm, .htu]
    private static let signedRegistration: [AdmissionCheck] =
        [.queue, .rateLimit, .body] + signedForm.filter { $0 != .htm && $0 != .htu } + [.challenge] + key + attestation
        + assertion.filter { $0 != .counterStored } + [.auditLog, .keyStored, .counterStored, .counterRise]
    private static let signedAuthorization: [AdmissionCheck] =
        [.body, .blockList, .identityBlocked, .route] + signedForm + [.rateLimit] + signedRequest + [.auditLog]
    private static let authorization: [AdmissionCheck] =
        [.body, .blockList] + accessToken + [.identityBlocked, .route] + proofOfToken + [.auditLog]
}
