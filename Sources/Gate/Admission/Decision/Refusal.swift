import DPoP
import RequestErrors

/// A refusal is a value: the answer for the client, and a detail for the log alone.
package struct Refusal: Sendable {
    package let answer: RefusalAnswer
    /// The exact reason, for the log alone. It contains no secrets and no text from the client.
    package let detail: String
    /// Seconds.
    package let retryAfter: Int?
    /// The `Allow` field of a 405 (RFC 9110 section 15.5.6).
    package let allowedMethods: [String]
    /// The check that the request failed, for the audit log alone.
    package private(set) var failed: FailedCheck
    /// A new challenge for the client's next attempt. The gate sets it if ``carriesChallenge``.
    package internal(set) var freshChallenge: FreshChallenge?
    /// What clients of access tokens read; `nil` for all others.
    package internal(set) var token: TokenError?
    /// Its client has signed the request, and reads ``message``.
    package internal(set) var isOfSignedRequest = false
    /// The subject whose key has signed, where the signature is right; for the audit log.
    package internal(set) var signer: String?
    /// The failed check in plain words, as far as the client may know it. It contains no secret and no client input.
    package internal(set) var reason: String?
    /// The method that the client tried, for the log. The gate sets it.
    package internal(set) var method = MethodName.none

    package init(
        _ answer: RefusalAnswer, detail: String, reason: String? = nil, retryAfter: Int? = nil,
        allowedMethods: [String] = [], failed: FailedCheck? = nil
    ) {
        self.reason = reason
        self.failed = failed ?? FailedCheck(answer.code.usualCheck)
        self.allowedMethods = allowedMethods
        self.answer = answer
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// The same refusal, of a check that only the caller knows.
    func failing(_ check: AdmissionCheck) -> Refusal {
        var refusal = Refusal(
            answer, detail: detail, retryAfter: retryAfter, allowedMethods: allowedMethods, failed: FailedCheck(check))
        (refusal.freshChallenge, refusal.token, refusal.method) = (freshChallenge, token, method)
        (refusal.reason, refusal.isOfSignedRequest, refusal.signer) = (reason, isOfSignedRequest, signer)
        return refusal
    }

    /// The same, with the subject that it is about; for the audit log.
    package func naming(_ subject: String?) -> Refusal {
        var refusal = self
        refusal.signer = subject
        return refusal
    }

    /// The same, behind a right signature.
    ///
    /// - Parameter subject: for ``signer``.
    package func signed(by subject: String, _ detail: String) -> Refusal {
        var refusal = Refusal(
            answer, detail: detail, retryAfter: retryAfter, allowedMethods: allowedMethods, failed: failed)
        (refusal.freshChallenge, refusal.token, refusal.method) = (freshChallenge, token, method)
        (refusal.reason, refusal.isOfSignedRequest, refusal.signer) = (reason, isOfSignedRequest, subject)
        return refusal
    }

    /// The counter of a passkey hasn't risen, though the signature is right: it may have been copied.
    package var isCounterRegression: Bool {
        answer.code == .passkeyRejected && (failed.check == .counter || failed.check == .counterStored)
    }

    /// The same, for what is kept while a session lasts.
    var withTextsMade: Refusal {
        var refusal = self
        refusal.failed = failed.made
        return refusal
    }

    package var status: Int { answer.status }
    package var code: RefusalCode { answer.code }
    package var message: String { answer.message }

    /// `error_description` (RFC 6749 section 5.2): code, message, reason and request. On a first run an app sees only
    /// this text, and passes it on.
    ///
    /// - Parameter id: of the request.
    /// - Returns: nil for a refusal that has only ``message``.
    package func description(ofRequest id: String) -> String? {
        guard token != nil || reason != nil else { return nil }
        let text = "\(code.rawValue): \(message)" + (reason.map { "; \($0)" } ?? "") + " (request \(id))"
        return ErrorDescription.permitted(text)
    }

    /// A client refused with 401 can retry at once, without another round trip for a challenge; one that has to attest
    /// its key (428) can do that at once.
    package var carriesChallenge: Bool {
        token == nil && (status == 401 || status == 428) && code != .passkeyRejected && code != .freshPasskeyRequired
    }

    /// The scheme in `WWW-Authenticate`, which RFC 9110 section 15.5.2 requires in a 401. `Bearer` (RFC 6750) and
    /// `DPoP` (RFC 9449 section 7.1) are registered, and no client acts on any of them automatically.
    package var authenticationScheme: String {
        if token != nil {
            // RFC 6750 section 3.1: no error for a request without a token.
            var challenge = AuthenticationChallenge.dpop
            if answer != .tokenRequired { challenge.parameters.append(("error", code.rawValue)) }
            return challenge.text
        }
        if isOfSignedRequest { return "AppAttest" }
        return switch code {
        case .sharedSecretRequired, .invalidSharedSecret: "Bearer"
        case .passkeyRejected, .freshPasskeyRequired: "Passkey"
        default: freshChallenge == nil ? "ClientCertificate" : "AppAttest"
        }
    }

    /// The header fields of this refusal, in addition to those of every answer.
    package var headerFields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let retryAfter { fields.append(("Retry-After", String(retryAfter))) }
        if let nonce = token?.nonce { fields.append(("DPoP-Nonce", nonce)) }
        if let freshChallenge { fields.append((freshChallenge.field, freshChallenge.text)) }
        // RFC 6455 section 4.2.2: the supported versions. RFC 9110 section 15.5.22: the protocol to upgrade to.
        if code == .unsupportedVersion || code == .upgradeRequired {
            fields += [("Sec-WebSocket-Version", "13"), ("Upgrade", "websocket")]
        }
        if !allowedMethods.isEmpty { fields.append(("Allow", allowedMethods.joined(separator: ", "))) }
        return fields
    }
}
