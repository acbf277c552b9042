import StrictJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What a refused proof or token had to say, and what it says: texts for whoever looks for the mistake.
///
/// They are made from the proof again, after the verifier has refused it, and decide nothing. `received` is what the
/// sender wrote: nobody vouches for it. No text contains a token, a signature, a nonce or a key; a thumbprint is a
/// name.
package typealias ProofDiscrepancy = (expected: String, received: String)

extension DPoPVerifier {
    /// - Parameter refusal: the reason for which the proof in `request` was refused at `time`.
    /// - Returns: nil where the refusal alone says everything.
    package func discrepancy(
        _ refusal: ProofRefusal, of request: ProofRequest, at time: Date
    ) -> ProofDiscrepancy? {
        if case .clockSkew(let seconds) = refusal { return ofClock(seconds, at: time) }
        if case .severalFields = refusal { return ("one DPoP field", "\(request.proofs.count)") }
        if case .perhapsInEarlierLife = refusal { return Self.ofEarlierLife }
        switch refusal {
        case .malformed(.type), .malformed(.algorithm), .keyMismatch, .methodMismatch, .uriMismatch: break
        default: return nil
        }
        guard let proof = request.proofs.first, let jws = try? CompactJWS(proof) else { return nil }
        switch refusal {
        case .malformed(.type): return ("typ \(Self.type)", jws.header["typ"]?.string ?? "none")
        case .malformed(.algorithm): return ("alg ES256", jws.header["alg"]?.string ?? "none")
        case .keyMismatch: return ofKey(jws, request.token)
        case .methodMismatch, .uriMismatch:
            guard let object = try? jws.claims(), let claims = try? ProofClaims(object) else { return nil }
            return refusal == .methodMismatch
                ? (request.method, claims.method) : (Self.shown(request.url), Self.shown(claims.uri))
        default: return nil
        }
    }

    private func ofClock(_ seconds: Int64, at time: Date) -> ProofDiscrepancy {
        let expected = "an iat within \(window.wholeSeconds) s of \(time.formatted(.iso8601))"
        return (expected, "one that is \(seconds.magnitude) s \(seconds < 0 ? "behind" : "ahead"): the client's clock")
    }

    /// Needs no proof at hand.
    package static let ofEarlierLife: ProofDiscrepancy = (
        "a nonce of since the start, or a later time: what was used before the start isn't known", "neither"
    )

    private func ofKey(_ jws: CompactJWS, _ token: BoundToken?) -> ProofDiscrepancy? {
        guard let bound = token?.key, let jwk = jws.header["jwk"]?.object, let key = try? PublicJWK(jwk) else {
            return nil
        }
        return ("the key \(bound), to which the token is bound", "\(key.thumbprint)")
    }

    /// Normalised, so without the query, which may contain a secret.
    private static func shown(_ url: String) -> String { TargetURI(url)?.text ?? "no absolute URL of http or https" }
}

extension AccessTokenVerifier {
    /// - Parameter refusal: the reason for which `token` was refused at `time`.
    /// - Returns: nil where the refusal alone says everything. Texts of a token are shown only where its signature was
    ///   good.
    package static func discrepancy(
        _ refusal: AccessTokenRefusal, of token: PresentedToken, issuer: String, audience: String, at time: Date
    ) -> ProofDiscrepancy? {
        switch refusal {
        case .wrongIssuer, .wrongAudience, .expired, .notYetValid: break
        // Nothing of a token that isn't authentic is read again.
        default: return nil
        }
        guard let jws = try? CompactJWS(token.text), let object = try? jws.claims(),
            let claims = try? AccessTokenClaims(object)
        else { return nil }
        switch refusal {
        case .wrongIssuer: return ("iss \(issuer)", claims.issuer)
        case .wrongAudience: return ("aud \(audience)", claims.audience.joined(separator: ", "))
        case .expired:
            return ("a token that is good at \(shown(time))", "one that expired at \(shown(claims.expiresAt))")
        case .notYetValid: return ("a token of before \(shown(time))", "one of \(shown(claims.issuedAt))")
        default: return nil
        }
    }

    /// The issuer's own times, but a time without end must not reach the formatter.
    private static func shown(_ time: Date) -> String {
        (0..<253_402_300_800).contains(time.timeIntervalSince1970) ? time.formatted(.iso8601) : "a time out of range"
    }
}
