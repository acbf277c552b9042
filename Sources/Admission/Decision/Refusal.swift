/// A refusal is a value: what the client is told, and what only the log knows.
package struct Refusal: Sendable {
    package let answer: RefusalAnswer
    /// For the log alone: what exactly was wrong. Free of secrets and of the client's own words.
    package let detail: String
    /// Seconds.
    package let retryAfter: Int?
    /// What a 405 names in `Allow` (RFC 9110 section 15.5.6).
    package let allowedMethods: [String]
    /// A new challenge for the client's next try, put in by the gate where ``carriesChallenge``.
    package internal(set) var freshChallenge: String?
    /// For the log: by which method the client tried. The gate puts it in.
    package internal(set) var method = MethodName.none

    package init(
        _ answer: RefusalAnswer, detail: String, retryAfter: Int? = nil, allowedMethods: [String] = []
    ) {
        self.allowedMethods = allowedMethods
        self.answer = answer
        self.detail = detail
        self.retryAfter = retryAfter
    }

    package var status: Int { answer.status }
    package var code: RefusalCode { answer.code }
    package var message: String { answer.message }

    /// A client refused with 401 may try again at once, without another round trip for a challenge.
    package var carriesChallenge: Bool { status == 401 }

    /// What a 401 names in `WWW-Authenticate`, for RFC 9110 section 15.5.2 wants a scheme. Only `Bearer` (RFC 6750) is a registered one, and
    /// no client acts on any of them by itself.
    package var authenticationScheme: String {
        switch code {
        case .sharedSecretRequired, .invalidSharedSecret: "Bearer"
        default: freshChallenge == nil ? "ClientCertificate" : "AppAttest"
        }
    }

    /// The header fields that this refusal brings along, beside those of every answer.
    package var headerFields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if let retryAfter { fields.append(("Retry-After", String(retryAfter))) }
        if let freshChallenge { fields.append(("X-App-Assert-Challenge", freshChallenge)) }
        // RFC 6455 section 4.2.2: the versions we do speak; RFC 9110 section 15.5.22: what to upgrade to.
        if code == .unsupportedVersion || code == .upgradeRequired {
            fields += [("Sec-WebSocket-Version", "13"), ("Upgrade", "websocket")]
        }
        if !allowedMethods.isEmpty { fields.append(("Allow", allowedMethods.joined(separator: ", "))) }
        return fields
    }
}
