package import FoundationEssentials

/// An access token in a client's memory.
package struct HeldToken: Hashable, Sendable {
    /// A client asks for the next token this many seconds before the end.
    package static let refreshMargin: TimeInterval = 60

    package let text: String
    package let expiresAt: Date

    /// - Parameters:
    ///   - lifetime: `expires_in`, in seconds.
    ///   - time: when it was requested, so that the request's duration isn't counted as lifetime.
    package init(text: String, lifetime: Int, requestedAt time: Date) {
        self.text = text
        expiresAt = time + TimeInterval(lifetime)
    }

    package func isFresh(at time: Date) -> Bool { expiresAt.timeIntervalSince(time) > Self.refreshMargin }
}

/// The newest server nonce of each origin (RFC 9449 section 8.2: nonces of one server aren't used at another).
package struct OriginNonces: Sendable {
    private var nonces: [String: String] = [:]

    package init() {}

    /// - Parameter origin: scheme, host and port.
    package subscript(origin: String) -> String? { nonces[origin] }

    /// - Parameter nonce: the value of `DPoP-Nonce`; nil where the answer has none, which keeps the last one.
    package mutating func note(_ nonce: String?, from origin: String) {
        if let nonce { nonces[origin] = nonce }
    }
}

/// What a client does with the answer to a request with a proof.
package enum ProofAnswer: Hashable, Sendable {
    /// The answer is the result.
    case final
    /// Repeat the request with the answer's nonce in a new proof.
    case retryWithNonce
    /// Repeat the request with a new access token.
    case retryWithToken

    /// - Parameters:
    ///   - nonce: `DPoP-Nonce` of the answer.
    ///   - authenticate: `WWW-Authenticate` of the answer.
    ///   - tried: what was tried before for this request; nothing is tried twice.
    package static func of(
        status: Int, nonce: String?, authenticate: String?, tried: Set<ProofAnswer>
    ) -> ProofAnswer {
        guard status == 401 else { return .final }
        if authenticate?.contains(#"error="invalid_token""#) == true {
            return tried.contains(.retryWithToken) ? .final : .retryWithToken
        }
        return nonce != nil && !tried.contains(.retryWithNonce) ? .retryWithNonce : .final
    }
}
