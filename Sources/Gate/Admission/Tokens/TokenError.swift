import DPoP
import FoundationEssentials

/// The part of a refusal that clients of access tokens read: `error` is the refusal's code.
package struct TokenError: Hashable, Sendable {
    /// For `DPoP-Nonce`; nil: none is sent.
    package let nonce: String?
}

/// The characters of `error_description` (RFC 6749 section 5.2): printable ASCII but quotation mark and backslash. They
/// need no escape in JSON or in a quoted string, so proxies may copy them.
enum ErrorDescription {
    static func isPermitted(_ byte: UInt8) -> Bool {
        (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// With a question mark for each other byte.
    static func permitted(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isPermitted) else { return text }
        return String(decoding: text.utf8.map { isPermitted($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

extension Refusal {
    /// A refusal that clients of access tokens can read.
    ///
    /// - Parameters:
    ///   - reason: for the client, after the message. It contains no secret and no client input.
    ///   - nonce: for `DPoP-Nonce`.
    package static func token(
        _ answer: RefusalAnswer, detail: String, reason: String? = nil, nonce: String? = nil, retryAfter: Int? = nil,
        failed: FailedCheck? = nil
    ) -> Refusal {
        Refusal(answer, detail: detail, reason: reason, retryAfter: retryAfter, failed: failed)
            .forTokenClient(nonce: nonce)
    }

    /// The same refusal in the words of this dialect.
    package func forTokenClient(nonce: String? = nil) -> Refusal {
        var refusal = self
        refusal.token = TokenError(nonce: nonce)
        return refusal
    }
}

/// Where a proof or a token was refused. RFC 9449 answers a wrong proof with 400 at the token endpoint (section 5), and
/// with 401 at a resource (section 7.1). A demand for a nonce is a 401 at both, because clients retry only on 401.
enum TokenEndpointKind {
    case token, resource
}

extension Refusal {
    /// - Parameters:
    ///   - discrepancy: what the proof should have said, and what it says.
    ///   - reason: for the client; nil: that of the verifier.
    static func proof(
        _ refusal: ProofRefusal, _ discrepancy: @autoclosure @escaping @Sendable () -> ProofDiscrepancy?,
        reason: String? = nil, at kind: TokenEndpointKind, time: Date, freshNonce: String?
    ) -> Refusal {
        let detail = "proof: \(refusal)"
        let failed = FailedCheck(refusal.check, discrepancy())
        var reason = reason ?? refusal.clientDescription
        if refusal.code == .clockSkew { reason += "; the server's time is \(time.formatted(.iso8601))" }
        return .token(
            answer(to: refusal.code, at: kind), detail: detail, reason: reason,
            nonce: refusal.code == .useNonce ? freshNonce : nil,
            retryAfter: refusal.code == .rateLimited || refusal.code == .unavailable ? proofRetryAfter : nil,
            failed: failed)
    }

    private static func answer(to code: DPoPErrorCode, at kind: TokenEndpointKind) -> RefusalAnswer {
        switch code {
        case .useNonce: .useNonce
        case .clockSkew: kind == .token ? .clockSkewAtToken : .clockSkew
        case .rateLimited: .tooManyProofs
        case .invalidToken: .invalidToken
        case .invalidRequest: .invalidRequest
        case .invalidProof: kind == .token ? .invalidProofAtToken : .invalidProof
        case .unavailable: .tokensUnavailable
        }
    }

    /// Seconds: about as long as a proof is remembered.
    private static let proofRetryAfter = 30
}
