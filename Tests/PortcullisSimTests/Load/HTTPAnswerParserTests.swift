import Testing

@testable import portcullis_sim

struct HTTPAnswerParserTests {
    private static let first = Array(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello".utf8)
    private static let second = Array(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-length:0\r\nConnection: close\r\n\r\n".utf8)

    @Test func `responses are read however they are split`() throws {
        let stream = Self.first + Self.second
        for cut in 0...stream.count {
            var parser = HTTPAnswerParser()
            var answers: [HTTPAnswerParser.Answer] = []
            for piece in [stream[..<cut], stream[cut...]] {
                Array(piece).withUnsafeBytes { parser.append($0) }
                while let answer = try parser.next() { answers.append(answer) }
            }
            try #require(answers.count == 2)
            #expect(answers[0] == HTTPAnswerParser.Answer(status: 200, body: Array("hello".utf8), isLast: false))
            #expect(answers[1] == HTTPAnswerParser.Answer(status: 429, body: [], isLast: true))
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\n\r\n", "SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \(HTTPAnswerParser.maximumBytes + 1)\r\n\r\n",
    ])
    func `a response that has no length or isn't HTTP is malformed`(text: String) {
        var parser = HTTPAnswerParser()
        Array(text.utf8).withUnsafeBytes { parser.append($0) }
        #expect(throws: HTTPAnswerParser.Failure.malformed) { try parser.next() }
    }
}
