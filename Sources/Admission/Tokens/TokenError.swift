import DPoP
import FoundationEssentials

/// The part of a refusal that clients of access tokens read: `error` (the refusal's code), `error_description`, `DPoP-Nonce`.
package struct TokenError: Hashable, Sendable {
    /// Begins with the code: on a first run the app sees only this text.
    package let description: String
    /// For `DPoP-Nonce`; nil: none is sent.
    package let nonce: String?
}

extension Refusal {
    /// A refusal that clients of access tokens can read.
    ///
    /// - Parameters:
    ///   - more: for the client, after the message. It contains no secret and no client input.
    ///   - nonce: for `DPoP-Nonce`.
    package static func token(
        _ answer: RefusalAnswer, detail: String, more: String? = nil, nonce: String? = nil, retryAfter: Int? = nil,
        failed: FailedCheck? = nil
    ) -> Refusal {
        Refusal(answer, detail: detail, retryAfter: retryAfter, failed: failed)
            .forTokenClient(more: more, nonce: nonce)
    }

    /// The same refusal in the words of this dialect.
    package func forTokenClient(more: String? = nil, nonce: String? = nil) -> Refusal {
        var refusal = self
        let text = "\(code.rawValue): \(message)" + (more.map { "; \($0)" } ?? "")
        refusal.token = TokenError(description: text, nonce: nonce)
        return refusal
    }
}

/// Where a proof or a token was refused. RFC 9449 answers a wrong proof with 400 at the token endpoint (section 5), and with 401 at a resource
/// (section 7.1). A demand for a nonce is a 401 at both, because clients retry only on 401.
enum TokenEndpointKind {
    case token, resource
}

extension Refusal {
    /// - Parameter discrepancy: what the proof should have said, and what it says.
    static func proof(
        _ refusal: ProofRefusal, _ discrepancy: @autoclosure @escaping @Sendable () -> ProofDiscrepancy?,
        at kind: TokenEndpointKind, time: Date, freshNonce: String?
    ) -> Refusal {
        let detail = "proof: \(refusal)"
        let failed = FailedCheck(refusal.check, discrepancy())
        switch refusal.code {
        case .useNonce: return .token(.useNonce, detail: detail, nonce: freshNonce, failed: failed)
        case .clockSkew:
            return .token(
                kind == .token ? .clockSkewAtToken : .clockSkew, detail: detail,
                more: "the server's time is \(time.formatted(.iso8601))", failed: failed)
        case .rateLimited: return .token(.tooManyProofs, detail: detail, retryAfter: proofRetryAfter, failed: failed)
        case .invalidToken: return .token(.invalidToken, detail: detail, failed: failed)
        case .invalidRequest: return .token(.invalidRequest, detail: detail, failed: failed)
        case .invalidProof:
            return .token(kind == .token ? .invalidProofAtToken : .invalidProof, detail: detail, failed: failed)
        }
    }

    /// Seconds: about as long as a proof is remembered.
    private static let proofRetryAfter = 30
}
