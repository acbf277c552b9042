import Reactors
import Testing

@testable import Admission
@testable import Relay

/// What an answer that refuses says about itself, for clients that see only its header.
@Suite("The header of a refusal")
struct RefusalAnswerTests {
    private let refusal = Refusal(.appAuthRequired, detail: "no credentials")

    private func values(_ name: String, _ answer: HTTPAnswer) -> [String] {
        answer.headers.filter { $0.name == name }.map(\.value)
    }

    @Test func `has code and request id, each once, as the body has them`() {
        for answer in [
            JSONAnswers.refusal(refusal, requestID: "91347244767f1a80"),
            AuthorizationEndpoint.refusal(refusal, requestID: "91347244767f1a80"),
        ] {
            #expect(values("X-Refusal-Code", answer) == ["app_auth_required"])
            #expect(values("X-Refusal-Request-Id", answer) == ["91347244767f1a80"])
            let body = String(decoding: answer.body, as: UTF8.self)
            #expect(body.contains(#""code":"app_auth_required""#) && body.contains(#""requestId":"91347244767f1a80""#))
        }
    }

    @Test func `describes it to proxies alone`() {
        let proxied = AuthorizationEndpoint.refusal(refusal, requestID: "r1")
        #expect(values("X-Refusal-Description", proxied) == [refusal.message])
        #expect(values("X-Refusal-Description", JSONAnswers.refusal(refusal, requestID: "r1")).isEmpty)
    }
}
