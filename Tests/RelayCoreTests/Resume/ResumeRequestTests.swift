import RelayCore
import Testing

struct ResumeRequestTests {
    private func request(_ parameters: [String: String]) -> ResumeRequest? {
        ResumeRequest { parameters[$0] }
    }

    @Test func `a query names a session, its token and the last number`() {
        let asked = request(["session": "s", "token": "t", "lastSeq": "18446744073709551615", "cols": "80"])
        #expect(asked == ResumeRequest(sessionID: "s", token: "t", lastSeq: .max))
    }

    @Test func `a query without a session requests no resume`() {
        #expect(request([:]) == nil)
        #expect(request(["token": "t", "lastSeq": "1"]) == nil)
    }

    @Test func `a missing token is empty, and an invalid number requests everything`() {
        #expect(request(["session": ""]) == ResumeRequest(sessionID: "", token: "", lastSeq: 0))
        for number in ["", "-1", "x", "1.5", "18446744073709551616"] {
            #expect(request(["session": "s", "lastSeq": number])?.lastSeq == 0)
        }
    }

    @Test func `the token isn't shown in the request's description`() {
        let asked = ResumeRequest(sessionID: "s", token: "secret", lastSeq: 1)
        #expect(!"\(TranslationOrder.resume(asked))".contains("secret"))
        #expect(!String(reflecting: asked).contains("secret"))
    }
}
