import KeyStore

/// What is wrong with a signed request before anything is verified or used up.
enum SignedRequestFault: Error, Hashable {
    case repeated(SignedField)
    case missing(SignedField)
    case malformed(SignedField)
    /// The client data has other members than those of one recipe, or one that isn't a text.
    case members
    /// The header field and the client data name two challenges.
    case challengesDiffer
    case digestOfGET
    /// The body isn't the one that the client names, or only one of body and digest is there.
    case digest
    /// Recipe 1 without the body: a proxy has it, or its length isn't known.
    case bodyUnseen
    /// A body whose length isn't the one that the proxy states: cut, or made longer.
    case bodyLength
    case method
    case url
    /// Recipe 2 at an endpoint of the gateway's own.
    case recipe

    /// For the log. It contains nothing of the client's.
    private var detail: String {
        switch self {
        case .repeated(let field): "\(field.name) is repeated"
        case .missing(let field): "\(field.name) is missing or empty"
        case .malformed(let field): "\(field.name) is malformed"
        case .members: "the client data has other members than those of a recipe"
        case .challengesDiffer: "x-appattest-challenge is not the challenge of the client data"
        case .digestOfGET: "x-appattest-bodysha256 at a GET"
        case .digest: "the body is not the one of the digest"
        case .bodyUnseen: "recipe 1, and the body or its length is not known (AUTHZ_BODY)"
        case .bodyLength: "the body has another length than x-original-content-length says"
        case .method: "htm is not the method of the request"
        case .url: "htu is not the URL of the request"
        case .recipe: "recipe 2 at an endpoint of the gateway"
        }
    }

    private var answer: RefusalAnswer {
        switch self {
        case .missing: .signedFieldMissing
        case .repeated, .malformed, .members, .challengesDiffer, .bodyUnseen, .recipe: .signedFieldsMalformed
        case .digestOfGET: .digestNotAccepted
        case .digest, .bodyLength: .bodyDigestMismatch
        case .method, .url: .signedAssertionRejected
        }
    }

    private var check: AdmissionCheck {
        switch self {
        case .repeated, .missing, .malformed: .signedFields
        case .members, .challengesDiffer, .recipe: .clientData
        case .digestOfGET, .digest, .bodyUnseen, .bodyLength: .bodyDigest
        case .method: .htm
        case .url: .htu
        }
    }

    var refusal: Refusal { .signed(answer, detail: detail, failed: FailedCheck(check)) }
}

extension Refusal {
    /// A refusal of a request that is signed by itself. Its clients act on the message.
    static func signed(
        _ answer: RefusalAnswer, detail: String, retryAfter: Int? = nil, failed: FailedCheck? = nil
    ) -> Refusal {
        var refusal = Refusal(answer, detail: detail, retryAfter: retryAfter, failed: failed)
        refusal.isOfSignedRequest = true
        return refusal
    }

    /// The same refusal of a request that is signed by itself.
    var ofSignedRequest: Refusal { .signed(answer, detail: detail, retryAfter: retryAfter, failed: failed) }
}

extension Refusal {
    /// The key has signed, and the device that it was attested for hardly has. Who it is goes into the audit log.
    fileprivate static func mismatch(of key: KeyID, detail: String, failed: FailedCheck) -> Refusal {
        var refusal = Refusal.signed(.signedKeyMismatch, detail: detail, failed: failed)
        refusal.signer = Identity.signed(key).subject
        return refusal
    }
}

extension Refusal {
    /// Of the registration of a key whose erasure hasn't ended: the client makes another one.
    static func beingErased(_ key: KeyID) -> Refusal { AssertionFault.erasing(key).signedRefusal }
}

extension AssertionFault {
    /// For a request that is signed by itself.
    var signedRefusal: Refusal {
        let (detail, failed) = (refusal.detail, refusal.failed)
        return switch self {
        case .unregistered, .erasing, .outOfScope, .forgotten:
            .signed(.reattestationRequired, detail: detail, failed: failed)
        case .revoked, .revokedMeanwhile: .signed(.keyRevoked, detail: detail, failed: failed)
        case .rejected, .counterUsed: .signed(.signedAssertionRejected, detail: detail, failed: failed)
        case .counterTooHigh(_, _, let key): .mismatch(of: key, detail: detail, failed: failed)
        case .challenge(let spending): spending.signedRefusal
        }
    }
}

extension ChallengeSpending {
    /// For a request that is signed by itself; not of `.spent`.
    var signedRefusal: Refusal {
        if case .full(let seconds) = self {
            return .signed(.challengesExhausted, detail: detail, retryAfter: seconds, failed: failed)
        }
        return .signed(.signedChallengeRefused, detail: detail, failed: failed)
    }
}
