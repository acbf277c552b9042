import HTTPWire
import Testing

@testable import Reactors

/// The bytes of a response.
struct HTTPAnswerTests {
    private func text(_ answer: HTTPAnswer, omittingBody: Bool = false, isSecure: Bool = true) -> String {
        var writer = ResponseWriter(isHead: omittingBody, closesConnection: answer.closesConnection)
        var bytes: [UInt8] = []
        writer.write(
            answer.response(strictTransport: isSecure ? "max-age=31536000" : nil), body: answer.body, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `an answer has its status, its headers in order, the fixed ones, and its body`() {
        let answer = HTTPAnswer(
            status: 401, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: Array("{}".utf8))
        #expect(
            text(answer) == """
                HTTP/1.1 401 Unauthorized\r
                Content-Type: application/json\r
                Cache-Control: no-store\r
                Strict-Transport-Security: max-age=31536000\r
                X-Content-Type-Options: nosniff\r
                Connection: keep-alive\r
                Content-Length: 2\r
                \r
                {}
                """)
    }

    @Test func `Strict-Transport-Security is sent over TLS only`() {
        #expect(text(HTTPAnswer(status: 200)).contains("Strict-Transport-Security"))
        #expect(!text(HTTPAnswer(status: 200), isSecure: false).contains("Strict-Transport-Security"))
    }

    @Test func `an answer that ends the connection has Connection: close`() {
        let answer = HTTPAnswer(status: 400, closesConnection: true)
        #expect(text(answer).contains("\r\nConnection: close\r\n"))
        #expect(!text(answer).contains("keep-alive"))
    }

    @Test func `the answer to a HEAD has the length and no body`() {
        let answer = HTTPAnswer(status: 200, body: Array(repeating: 65, count: 1_000))
        #expect(text(answer, omittingBody: true).hasSuffix("\r\n\r\n"))
        #expect(text(answer, omittingBody: true).contains("\r\nContent-Length: 1000\r\n"))
        #expect(text(answer).hasSuffix(String(repeating: "A", count: 1_000)))
    }

    @Test func `an empty body has the length 0`() {
        #expect(text(HTTPAnswer(status: 404)).contains("\r\nContent-Length: 0\r\n"))
    }

    @Test(arguments: [
        (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (403, "Forbidden"), (404, "Not Found"),
        (405, "Method Not Allowed"), (411, "Length Required"), (413, "Content Too Large"), (426, "Upgrade Required"),
        (429, "Too Many Requests"), (500, "Internal Server Error"), (503, "Service Unavailable"),
    ])
    func `each status has its reason phrase`(status: Int, reason: String) {
        #expect(text(HTTPAnswer(status: status)).hasPrefix("HTTP/1.1 \(status) \(reason)\r\n"))
    }
}
