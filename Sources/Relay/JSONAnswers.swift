import Admission
import FoundationEssentials
import Reactors

/// The gateway's answers: JSON, never cached.
enum JSONAnswers {
    private static let headers: [(name: String, value: String)] = [
        ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
    ]

    /// A 200 whose members have names in snake case, as OAuth has them.
    static func oauth(_ body: some Encodable) -> HTTPAnswer { json(200, body, names: .convertToSnakeCase) }

    static func json(
        _ status: Int, _ body: some Encodable, names: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys
    ) -> HTTPAnswer {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = names
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding our own structures of strings can't fail; an empty body would be a bug that a test sees.
        let bytes = (try? encoder.encode(body)).map { [UInt8]($0) } ?? []
        return HTTPAnswer(status: status, headers: headers, body: bytes)
    }

    /// `{"expires":…,"nonce":…}`, both as strings: the client guide decodes `[String: String]`. Written by hand for speed, since there is
    /// one for each upgrade: it contains only digits and hexadecimal digits, so nothing needs escaping.
    static func challenge(_ issued: IssuedChallenge) -> HTTPAnswer {
        let text = "{\"expires\":\"\(issued.expires)\",\"nonce\":\"\(issued.nonce)\"}"
        return HTTPAnswer(status: 200, headers: headers, body: Array(text.utf8))
    }

    /// `{"error":…,"code":…,"requestId":…}`: the code is stable, the text is for people, the detail stays here.
    ///
    /// Clients of access tokens get `error` and `error_description` as RFC 6749 section 5.2 has them, besides.
    ///
    /// The code is also in a header: for a refused upgrade most WebSocket clients expose the headers, but not the body.
    static func refusal(_ refusal: Refusal, requestID: String) -> HTTPAnswer {
        let code = refusal.code.rawValue
        var answer = json(
            refusal.status,
            RefusalBody(
                error: refusal.token == nil ? refusal.message : code, errorDescription: refusal.token?.description,
                code: code, requestId: requestID))
        answer.headers.append(("X-Refusal-Code", code))
        if refusal.status == 401 {
            answer.headers.append(("WWW-Authenticate", refusal.authenticationScheme))
        }
        answer.headers += refusal.headerFields
        return answer
    }

    struct RefusalBody: Encodable {
        let error: String
        let errorDescription: String?
        let code: String
        let requestId: String

        private enum CodingKeys: String, CodingKey {
            case error, code, requestId
            case errorDescription = "error_description"
        }
    }

    struct RegisteredBody: Encodable {
        let registered = true
    }

    struct TicketBody: Encodable {
        let ticket: String
        /// Seconds, as a string like every other value here.
        let expiresIn: String
    }

    struct HealthBody: Encodable {
        let status: String
        let version: String
        /// Omitted if there are no warnings.
        let warnings: [String]?
    }
}
