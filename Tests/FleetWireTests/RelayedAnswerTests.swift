import Testing

@testable import FleetWire

struct RelayedAnswerTests {
    private static let head = Array("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n".utf8)

    @Test func `what follows a 101 is released, however the bytes are split`() throws {
        let frames: [UInt8] = [0x81, 2, 72, 105, 0x88, 0]
        let whole = Self.head + frames
        for cut in 0...whole.count {
            var answer = RelayedAnswer()
            let first = try answer.take(whole[..<cut])
            #expect(answer.isSwitched == (cut >= Self.head.count))
            #expect(first + (try answer.take(whole[cut...])) == frames)
            #expect(answer.isSwitched && answer.heldBytes == 0)
        }
        var answer = RelayedAnswer()
        #expect(try whole.flatMap { try answer.take([$0]) } == frames)
    }

    @Test func `of a refusal its status and its code are read, and nothing is released`() throws {
        let refusal = Array("HTTP/1.1 401 Unauthorized\r\nX-Refusal-Code: invalid_resume\r\n\r\n{}".utf8)
        for cut in 0...refusal.count {
            var answer = RelayedAnswer()
            #expect(try answer.take(refusal[..<cut]).isEmpty && answer.take(refusal[cut...]).isEmpty)
            #expect(answer.status == 401 && !answer.isSwitched && answer.refusalCode == "invalid_resume")
            #expect(!answer.isSessionUnknown)
        }
    }

    @Test(arguments: [
        ("x-session: unknown", true), ("X-Session:unknown", true), ("X-Session: known", false), ("X-Session", false),
        ("X-Sessions: unknown", false), ("X: X-Session: unknown", false),
    ])
    func `it says whether the session is unknown there`(field: String, isUnknown: Bool) throws {
        var answer = RelayedAnswer()
        _ = try answer.take("HTTP/1.1 401 Unauthorized\r\n\(field)\r\n\r\n".utf8)
        #expect(answer.isSessionUnknown == isUnknown && answer.refusalCode == nil && !answer.isTokenWrong)
    }

    @Test(arguments: [
        ("x-session: refused", true), ("X-Session:refused", true), ("X-Session: unknown", false),
        ("X-Session: refused, more", false), ("X-Sessions: refused", false), ("X-Session", false),
    ])
    func `it says whether the token is wrong, whoever the client is`(field: String, isWrong: Bool) throws {
        var answer = RelayedAnswer()
        _ = try answer.take("HTTP/1.1 401 Unauthorized\r\n\(field)\r\n\r\n".utf8)
        #expect(answer.isTokenWrong == isWrong)
        #expect(!answer.isTokenWrong || !answer.isSessionUnknown)
    }

    @Test(arguments: [
        "HTTP/1.0 101 Switching\r\n\r\n", "HTTP/1.1 1O1 Switching\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        "HTTP/1.1 600 Odd\r\n\r\n", "\r\n\r\n",
    ])
    func `what isn't an answer is refused`(text: String) {
        var answer = RelayedAnswer()
        #expect(throws: RelayedAnswer.Fault.malformedHead) { try answer.take(text.utf8) }
        #expect(answer.status == nil)
    }

    @Test func `a header has a limit`() throws {
        let begin = Array("HTTP/1.1 401 Unauthorized\r\nX: ".utf8)
        let padding = RelayedAnswer.maximumHeadBytes - begin.count - 4
        var answer = RelayedAnswer()
        let longest = begin + [UInt8](repeating: 65, count: padding) + Array("\r\n\r\n".utf8)
        #expect(try answer.take(longest).isEmpty && answer.status == 401)
        var other = RelayedAnswer()
        let longer = begin + [UInt8](repeating: 65, count: padding + 1) + Array("\r\n\r\n".utf8)
        #expect(throws: RelayedAnswer.Fault.headTooLong) { try other.take(longer) }
        var endless = RelayedAnswer()
        _ = try endless.take(longest.dropLast(4))
        #expect(throws: RelayedAnswer.Fault.headTooLong) { try endless.take([UInt8](repeating: 65, count: 5)) }
    }
}
