import DPoP
import Foundation
import RequestErrors
import Testing

/// What servers answer with: the errors' codes, descriptions and challenges.
struct RequestErrorTests {
    private static let malformed: [JOSEError] =
        [.tooLong, .partCount, .signatureLength, .type, .algorithm, .criticalHeader]
        + JOSEPart.allCases.flatMap(ofPart)

    private static func ofPart(_ part: JOSEPart) -> [JOSEError] {
        [.malformedBase64URL(part), .malformedJSON(part, .tooLong), .malformedJSON(part, .duplicateMember(at: 7))]
    }

    private static let proofs: [ProofRefusal] =
        [
            .tokenWithoutProof, .missing, .severalFields, .tokenNotBound, .jwk(.curve), .jwkMissing, .signatureMismatch,
            .methodMismatch, .uriMismatch, .nonceMissing, .nonceUnknown, .clockSkew(seconds: -45),
            .clockSkew(seconds: .max), .outsideItsValidity, .tokenHashMissing, .tokenHashMismatch, .keyMismatch,
            .replayed, .keyLimit, .storeFull, .undecidable, .perhapsInEarlierLife, .storeUnavailable,
        ] + malformed.map { .malformed($0) } + ProofClaim.allCases.map { .claim($0) }

    private static let tokens: [AccessTokenRefusal] =
        [
            .unknownKey, .signatureMismatch, .notBound, .wrongIssuer, .wrongAudience, .expired, .notYetValid,
        ] + malformed.map { .malformed($0) } + AccessTokenClaim.allCases.map { .claim($0) }

    private static let authorizations: [AuthorizationRefusal] = [.severalFields, .otherScheme, .malformedToken]

    static var errors: [any RequestError] { proofs as [any RequestError] + tokens + authorizations }

    /// RFC 6749 section 5.2: `%x20-21 / %x23-5B / %x5D-7E`.
    private func isPermitted(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    @Test func `every error has a description for the client, which needs no escape`() {
        for error in Self.errors {
            let text = error.clientDescription
            #expect((10...120).contains(text.utf8.count) && isPermitted(text), "\(error): \(text)")
            #expect(!text.contains("registration required") && !text.hasSuffix("."), "\(error): \(text)")
            #expect([400, 401, 429, 503].contains(error.status), "\(error)")
            #expect(isPermitted(error.code.rawValue) && !error.code.rawValue.contains(" "))
        }
    }

    @Test func `the names of the claims are told, and of a signature only that it isn't good`() {
        #expect(ProofRefusal.methodMismatch.clientDescription.hasPrefix("htm "))
        #expect(ProofRefusal.uriMismatch.clientDescription.hasPrefix("htu "))
        #expect(ProofRefusal.tokenHashMismatch.clientDescription.hasPrefix("ath "))
        #expect(ProofRefusal.clockSkew(seconds: -45).clientDescription == "iat is 45 s behind the server's clock")
        #expect(ProofRefusal.clockSkew(seconds: 45).clientDescription == "iat is 45 s ahead of the server's clock")
        #expect(ProofRefusal.signatureMismatch.clientDescription == "the proof cannot be verified")
        let (unknown, wrong) = (AccessTokenRefusal.unknownKey, AccessTokenRefusal.signatureMismatch)
        #expect(unknown.clientDescription == wrong.clientDescription)
    }

    @Test func `a challenge has the scheme, the algorithms, the code and the description`() {
        #expect(
            ProofRefusal.replayed.wwwAuthenticate(realm: "an \"api\"")
                == #"DPoP algs="ES256", realm="an \"api\"", error="invalid_dpop_proof", error_description="#
                + #""the proof was used before (replayed): sign a new one for each request""#)
        #expect(AuthorizationRefusal.otherScheme.wwwAuthenticate() == #"DPoP algs="ES256""#)
        #expect(AuthenticationChallenge.dpop.text == #"DPoP algs="ES256""#)
        for error in Self.errors {
            #expect(error.wwwAuthenticate().hasPrefix(#"DPoP algs="ES256""#))
            #expect(error.wwwAuthenticate().contains("error=\"\(error.code.rawValue)\"") == error.isAboutCredentials)
        }
    }

    @Test func `a value can't end its parameter or the field`() {
        let challenge = AuthenticationChallenge(
            scheme: "X", parameters: [("a", "b\"c\\d"), ("e", "f\r\nSet-Cookie: g\u{0}é"), ("h", "")])
        #expect(challenge.text == #"X a="b\"c\\d", e="f??Set-Cookie: g???", h="""#)
        #expect(AuthenticationChallenge(scheme: "X").text == "X")
    }

    @Test func `each code has its status`() {
        let statuses = Dictionary(Self.errors.map { ($0.code.rawValue, $0.status) }) { first, second in
            #expect(first == second)
            return first
        }
        #expect(
            statuses == [
                "invalid_request": 400, "invalid_token": 401, "invalid_dpop_proof": 401, "use_dpop_nonce": 401,
                "clock_skew": 401, "rate_limited": 429, "temporarily_unavailable": 503,
            ])
        #expect(Set(statuses.keys) == Set(DPoPErrorCode.allCases.map(\.rawValue)))
    }
}
