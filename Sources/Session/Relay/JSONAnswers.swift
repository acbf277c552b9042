import Admission
import Reactors
import WireText

/// The gateway's answers: JSON, never cached.
enum JSONAnswers {
    static let headers: [(name: String, value: String)] = [
        ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
    ]

    static func json(_ status: Int, _ write: (inout JSONWriter) -> Void) -> HTTPAnswer {
        var body = JSONWriter()
        write(&body)
        return HTTPAnswer(status: status, headers: headers, body: body.object)
    }

    /// `{"expires":…,"nonce":…}`, both as strings: the client guide decodes `[String: String]`.
    static func challenge(_ issued: IssuedChallenge) -> HTTPAnswer {
        json(200) {
            $0.member("expires", "\(issued.expires)")
            $0.member("nonce", issued.nonce)
        }
    }

    /// `{"challenge":…,"expires_at":…}`
    static func signedChallenge(_ issued: IssuedChallenge) -> HTTPAnswer {
        HTTPAnswer(status: 200, headers: headers, body: signed(issued))
    }

    private static func signed(_ issued: IssuedChallenge) -> [UInt8] {
        var body = JSONWriter()
        body.member("challenge", issued.nonce)
        body.member("expires_at", issued.expiresAt)
        return body.object
    }

    /// `{"next_challenge":{"challenge":…,"expires_at":…}}`
    static func nextChallenge(_ status: Int, _ issued: IssuedChallenge) -> HTTPAnswer {
        json(status) { $0.member("next_challenge", json: signed(issued)) }
    }

    static func registered() -> HTTPAnswer { json(200) { $0.member("registered", true) } }

    /// `{"expiresIn":…,"ticket":…}`: seconds as a string, like every other value here.
    static func ticket(_ issued: IssuedTicket) -> HTTPAnswer {
        json(200) {
            $0.member("expiresIn", String(issued.expiresIn))
            $0.member("ticket", issued.ticket.text)
        }
    }

    /// `{"status":…,"version":…,"warnings":[…]}`; without warnings the last member is omitted.
    static func health(_ httpStatus: Int, status: String, version: String, warnings: [String]) -> HTTPAnswer {
        json(httpStatus) {
            $0.member("status", status)
            $0.member("version", version)
            if !warnings.isEmpty { $0.member("warnings", warnings) }
        }
    }

    /// `{"code":…,"error":…,"requestId":…}`: the code is stable, the text is for people, the detail stays here.
    ///
    /// Clients of access tokens get `error` and `error_description` of RFC 6749 section 5.2; others get the latter
    /// where there is a reason to tell.
    ///
    /// Code and id are also in headers: for a refused upgrade most WebSocket clients expose these, but not the body.
    static func refusal(_ refusal: Refusal, requestID: String) -> HTTPAnswer {
        let code = refusal.code.rawValue
        var answer = json(refusal.status) {
            $0.member("code", code)
            $0.member("error", refusal.token == nil ? refusal.message : code)
            if let description = refusal.description(ofRequest: requestID) {
                $0.member("error_description", description)
            }
            $0.member("requestId", requestID)
        }
        answer.headers += [("X-Refusal-Code", code), ("X-Refusal-Request-Id", requestID)]
        if refusal.status == 401 {
            answer.headers.append(("WWW-Authenticate", refusal.authenticationScheme))
        }
        answer.headers += refusal.headerFields
        return answer
    }
}
