package import Admission

extension AdmissionCheck {
    /// What holds where the check passes, in the words of docs/PROTOCOL.md.
    package var title: String {
        switch self {
        case .handshake: "the opening handshake is well-formed (RFC 6455)"
        case .draining: "the gateway isn't shutting down"
        case .blockList: "neither the address nor the claimed identity is on the block list"
        case .origin: "the web page's origin may connect"
        case .capacity: "there is room for a session"
        case .rateLimit: "the address is within its limits"
        case .sharedSecret: "the shared secret is valid, where one is required"
        case .route: "the route allows this admission method (admit=)"
        case .credential: "there is a credential"
        case .keyStore: "the key store answers"
        case .holder: "the credential behind the ticket or token is still accepted"
        case .identityBlocked: "the verified identity is not on the block list"
        case .queue: "the queue of requests has room"
        case .body: "the request is well-formed"
        case .claimedApp: "the app is the one that the request names"
        case .signingKey: "there is a key to sign the token with"
        case .ticketRoom: "there is room for a ticket"
        case .lease: "the session's place is still free"
        case .auditLog: "the decision is in the audit log"
        case .time: "the decision is made in time"
        case .certificateVerified: "the client certificate verifies"
        case .certificateFresh: "the certificate was verified in this handshake"
        case .certificateLifetime: "the certificate hasn't expired since the handshake"
        case .ticket: "the ticket is of this process, unexpired and unused"
        case .sessionToken: "the session's token matches a session"
        default: appleTitle ?? accountTitle ?? tokenTitle
        }
    }

    /// Of attestations and assertions.
    private var appleTitle: String? {
        switch self {
        case .assertionFields: "all three X-App-Assert headers are there"
        case .challenge: "the challenge is of this process, unexpired and unused"
        case .keyRegistered: "the key is registered"
        case .keyRevoked: "the key is not revoked"
        case .keyScope: "the key's app, environment and trust root are configured"
        case .assertionForm: "the assertion is well-formed"
        case .signature: "the key has signed this challenge"
        case .authenticatorData: "the authenticator data is well-formed"
        case .appID: "the rpIdHash is that of the app (team and bundle id)"
        case .counter: "the counter is above the last one"
        case .validationCategory: "the validation category is allowed, where one is required"
        case .counterStored: "no other request has used the counter meanwhile"
        case .counterRise: "the counter isn't far above the last one"
        case .signedFields: "the X-AppAttest fields are complete, each once and well-formed"
        case .clientData: "the client data is one of the two recipes, with the challenge of the field"
        case .bodyDigest: "the body is the one of the digest"
        case .attestationForm: "the attestation is well-formed"
        case .certificates: "the certificates lead to the trust root"
        case .attestedChallenge: "the attestation is over this challenge"
        case .keyID: "the key identifier is that of the attested key"
        case .attestedCounter: "the attested counter is 0"
        case .environment: "the environment (aaguid) is allowed"
        case .credentialID: "the credential is the attested key"
        case .keyStored: "the key is stored"
        default: nil
        }
    }

    /// Of access tokens and their proofs.
    private var tokenTitle: String {
        switch self {
        case .authorization: "there is one access token in Authorization"
        case .tokenForm: "the access token is well-formed (RFC 9068)"
        case .tokenSignature: "a current key of this gateway has signed the token"
        case .tokenClaims: "the token has all its claims"
        case .tokenIssuer: "the token is of this issuer (iss)"
        case .tokenAudience: "the token is for this gateway (aud)"
        case .tokenLifetime: "the token has begun and not expired"
        case .tokenSubject: "the token names its holder"
        case .developmentToken: "the development token is good, where it is one"
        case .tokenBound: "the token is bound to a key"
        case .proof: "there is one DPoP proof"
        case .proofForm: "the proof is well-formed (RFC 9449)"
        case .htm: "htm is the method of the request"
        case .htu: "htu is the URL of the request"
        case .serverNonce: "the server's nonce is current, where one is required"
        case .iat: "iat is near the server's time"
        case .proofValidity: "exp and nbf allow the proof now"
        case .ath: "ath is the hash of the token"
        case .proofKey: "the proof has a public key on P-256"
        case .tokenKey: "the proof's key is the token's"
        case .proofSignature: "the proof is signed by its key"
        case .replay: "the proof wasn't used before"
        case .deviceKey: "the proof's key is that of the request"
        default: rawValue
        }
    }
}
