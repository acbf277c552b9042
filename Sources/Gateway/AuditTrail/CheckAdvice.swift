package import Admission

extension AdmissionCheck {
    /// What a developer of the app, or the operator, can do about a failed check.
    package var advice: String {
        switch self {
        case .handshake:
            "Use a WebSocket library's client, and offer a subprotocol of docs/DIALECTS.md or none. A proxy on the way must pass upgrades on."
        case .draining: "The gateway was shutting down. Connect again after the seconds in Retry-After."
        case .blockList, .identityBlocked:
            "The operator has blocked it: see BLOCK_LIST_PATH, and in a fleet `portcullis block-list list`."
        case .origin:
            "The page was loaded from another origin than the gateway's. Add its origin to ALLOWED_ORIGINS, or let the proxy forward Host."
        case .capacity, .lease:
            "All places are taken: see MAX_SESSIONS_GLOBAL. Connect again after the seconds in Retry-After."
        case .rateLimit:
            "Too many requests of this address. Wait for the seconds in Retry-After, and between attempts ever longer. Behind a proxy set TRUSTED_PROXY_CIDRS, or all clients share one limit."
        case .sharedSecret: "Send `Authorization: Bearer <secret>` with a secret whose hash is in SHARED_SECRETS_PATH."
        case .route:
            "Use another route or another credential, or change admit= of the route in TARGET_ROUTES (AUTHZ_ADMIT for HTTP services)."
        case .credential:
            "Send credentials with the upgrade: docs/CLIENTS.md has the ways. An app registers its key first, then signs a fresh challenge."
        case .keyStore:
            "The store didn't answer: see the log for errors. Later checks may have passed. The client can try again."
        case .holder:
            "The credential for which the ticket or the token was issued isn't accepted any more. Present the credential itself again."
        case .queue: "Too many such requests at once. Try again after the seconds in Retry-After."
        case .body: "The request doesn't have the form of docs/PROTOCOL.md; the detail names the member."
        case .claimedApp:
            "The request names another app than the attestation: check team_id and app.bundle_id that the app sends."
        case .signingKey: "The gateway has no key to sign with: see `portcullis signing-keys list` and the log."
        case .ticketRoom:
            "Unused tickets are at their limit (10,000, or 64 of one client). Try again after the seconds in Retry-After."
        case .auditLog: "The audit log couldn't be written, and AUDIT_FULL is refuse: free its disk."
        case .keyStored:
            "The key was verified but not stored: see the log, and the disk of ATTESTED_KEYS_PATH. The client can register again."
        case .time: "The gateway was too slow to decide: see the log. The client can try again."
        case .certificateVerified:
            "The certificate is of another authority, expired or revoked. Issue one by an authority in MTLS_CLIENT_CA_PATH, and send intermediates along."
        case .certificateFresh:
            "The client resumed a TLS session, in which no certificate is checked. Turn off session tickets in the client."
        case .certificateLifetime: "The certificate expired while the connection was open. Issue a new one."
        case .ticket:
            "Tickets are used once, live for TICKET_TTL_SECONDS and end with the process. Ask for a new one right before the upgrade."
        case .sessionToken:
            "The session has ended, its token is wrong, or the session began with credentials, which must be presented again."
        default: appleAdvice ?? accountAdvice ?? tokenAdvice
        }
    }

    private var appleAdvice: String? {
        switch self {
        case .assertionFields:
            "Send X-App-Assert-KeyId, X-App-Assert-Data and X-App-Assert-Nonce together; is App Attest configured here?"
        case .challenge:
            "Get a challenge right before each use, from the same gateway, and use it once: CHALLENGE_TTL_SECONDS. A restart makes older ones foreign. The challenges of /attest/challenge by GET and by POST aren't interchangeable."
        case .keyRegistered:
            "The app must register its key (POST /attest/register), and again after the key store was lost. `portcullis keys list` shows the known ones."
        case .keyRevoked:
            "The operator has revoked the key: `portcullis keys show`, `portcullis keys restore`. Registering again doesn't help."
        case .keyScope:
            "The key was registered under other settings (APPATTEST_APP_IDS, APPATTEST_ENVIRONMENT, APPATTEST_ROOT_CA_PATH). Register again, or restore the setting."
        case .assertionForm:
            "Send the bytes of generateAssertion unchanged, in base64. If they are an attestation, call generateAssertion instead."
        case .signature:
            "The key didn't sign this challenge. Sign SHA-256 over the challenge's 32 bytes (decode its hexadecimal first; in the token dialect the JWK's thumbprint follows them), with the key that X-App-Assert-KeyId names."
        case .authenticatorData: "The object isn't one of App Attest's, or was changed on its way."
        case .appID:
            "Another team or another bundle id than configured: compare APPATTEST_TEAM_ID, APPATTEST_BUNDLE_ID and APPATTEST_APP_IDS with the signed build. App clips and extensions have bundle ids of their own."
        case .counter:
            "The counter has gone back. Assertions arrived out of order or were sent twice (send them one after the other, each once), the device was restored from a backup, or somebody copied an assertion."
        case .validationCategory:
            "The build was distributed in another way than APPATTEST_VALIDATION_CATEGORIES allows, or the system is older than iOS 27."
        case .counterStored:
            "Two requests of the device ran at once. Send them one after the other, or widen ASSERTION_WINDOW for signed requests."
        case .counterRise:
            "Another device may have the key: its counter is more than a million above the last one. Revoke it (`portcullis keys revoke`), unless an old copy of the store was restored."
        case .signedFields:
            "Send X-AppAttest-KeyId, -Challenge, -Assertion and -ClientData, each once. Does the proxy pass them on to /authz?"
        case .clientData:
            "Sign {\"challenge\":\"…\"} alone, or with htm, htu and digest together; at most 1,024 bytes of ASCII. At /register and /unregister only the first."
        case .bodyDigest:
            "Send X-AppAttest-BodySHA256 over the body's bytes, and none without a body. For signatures over the body set AUTHZ_BODY=forwarded, and have the proxy forward all of it with X-Original-Content-Length."
        case .attestationForm: "Send the bytes of attestKey unchanged, in base64; not an assertion."
        case .certificates:
            "The attestation leads to another root. A simulated device needs APPATTEST_ROOT_CA_PATH; a genuine one never has another root than Apple's. An attestation is only good for days: register right after attestKey. Is the server's clock right?"
        case .attestedChallenge:
            "The attestation is over another challenge. Give attestKey SHA-256 over the challenge's 32 bytes (in the token dialect the JWK's thumbprint follows them), and send that same challenge."
        case .keyID: "Send the key identifier that belongs to this attestation, as generateKey returned it."
        case .attestedCounter: "This is no fresh attestation: send what attestKey returned."
        case .environment:
            "A build that was run from Xcode attests as development. Set com.apple.developer.devicecheck.appattest-environment to production in the app's entitlements, use TestFlight, or have APPATTEST_ENVIRONMENT=any on a test gateway."
        case .credentialID: "The attestation names another key than it is for: it was changed on its way."
        default: nil
        }
    }

    private var tokenAdvice: String {
        switch self {
        case .authorization: "Send one field `Authorization: DPoP <token>`."
        case .tokenForm: "Send the access token as POST /token returned it."
        case .tokenSignature:
            "The token is of another gateway, or of a signing key that was revoked or replaced. Ask for a new one at POST /token."
        case .tokenClaims, .tokenBound, .tokenSubject:
            "The token isn't one of this gateway's. Ask for a new one at POST /token."
        case .tokenIssuer, .tokenAudience:
            "The token is of another server, or PUBLIC_ORIGIN or the audience has changed since. Ask for a new one at POST /token."
        case .tokenLifetime:
            "Ask for a new token a minute before the old one ends; `expires_in` counts from its receipt."
        case .developmentToken:
            "See `portcullis dev-tokens list`: revoked, expired, used by too many devices, or development tokens are off."
        case .proof: "Send one DPoP header with each request; a new proof each time."
        case .proofForm:
            "The proof isn't a JWS of the form of docs/TOKENS.md: typ dpop+jwt, alg ES256, with jti, htm, htu and iat."
        case .htm: "Make the proof for the method of the request; a WebSocket upgrade is a GET."
        case .htu:
            "Make the proof for the URL that the client uses, without its query. Without PUBLIC_ORIGIN its host must be a name of the server's certificate, and its port WS_PORT. Behind a proxy that ends TLS, or maps the port, set PUBLIC_ORIGIN."
        case .serverNonce: "Repeat the request once, with the nonce of DPoP-Nonce in a new proof."
        case .iat: "The clock of the device, or the server's, is wrong. Correct iat by the Date of the server's answer."
        case .proofValidity: "Leave exp and nbf out of the proof, or make a new proof for each request."
        case .ath: "Put SHA-256 of this access token, in base64url, into ath."
        case .proofKey: "Put the public key on P-256 into jwk of the header, without its private part."
        case .tokenKey: "Sign with the key for which the token was issued; a new key needs a new token."
        case .proofSignature: "Sign header and payload with ES256: r and s in 32 bytes each, not DER."
        case .replay:
            "Make a new proof, with another jti and the nonce of DPoP-Nonce if there is one, for each request; also when one is repeated."
        case .deviceKey:
            "Sign the proof with the key of device_key_jwk, and send the same proof in the header and in the body."
        default: "See docs/PROTOCOL.md."
        }
    }
}
