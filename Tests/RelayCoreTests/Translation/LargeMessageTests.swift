import RelayCore
import Testing

@Suite("A large message")
struct LargeMessageTests {
    private func connected(_ kind: DialectKind, maximum: Int = 65_536) throws -> Conversation {
        var session = try Conversation(kind, maximumMessageBytes: maximum)
        if kind == .typed { _ = session.say(#"{"type":"connect","target":""}"#) }
        if kind == .legacy { _ = session.say(#"{"connect":1}"#) }
        _ = session.connect()
        return session
    }

    /// The target's input from a typed message whose text is `content`, the inside of a JSON string.
    private func typed(_ content: String, cid: Int = 7) throws -> [String] {
        var session = try connected(.typed)
        return session.say(#"{"type":"input","text":"\#(content)","cid":\#(cid)}"#)
    }

    @Test func `of 62 KB of text is accepted, however much escapes add`() throws {
        let ack = #"S {"type":"inputAck","cid":7}"#
        let lines = try typed(String(repeating: #"\"quoted\"\n"#, count: 62_000 / 9))
        #expect(lines.contains(ack) && !lines.contains { $0.contains("error") })
        // As Python writes what isn't ASCII: three times as long.
        let cyrillic = try typed(String(repeating: #"\u0436"#, count: 31_000))
        #expect(cyrillic.contains(ack))
    }

    @Test func `of the maximum size is accepted, and one byte more is answered with its number`() throws {
        #expect(try typed(String(repeating: "x", count: 65_536)).contains(#"S {"type":"inputAck","cid":7}"#))
        #expect(
            try typed(String(repeating: "x", count: 65_537)) == [
                #"S {"type":"error","code":"invalid_request","message":"Message is too large","cid":7}"#
            ])
    }

    @Test func `is answered even if it is too large to reassemble, and the session continues`() throws {
        for kind in [DialectKind.typed, .json, .gmcp, .legacy] {
            var session = try connected(kind, maximum: 1_000)
            let size = MessageSize.onTheWire(1_000)
            let answer = session.say(String(repeating: " ", count: size), pieces: 16)
            #expect(answer.count == 1, "\(kind): \(answer)")
            #expect(session.say("look\n", isText: kind == .typed || kind == .legacy) == [#"D look\r\n"#], "\(kind)")
        }
    }

    @Test func `of GMCP counts as well`() throws {
        var session = try connected(.json, maximum: 1_000)
        let large = String(repeating: "x", count: 1_000)
        let answer = session.say(#"{"proto":"gmcp","id":"A","data":"\#(large)"}"#)
        #expect(answer == [#"S {"proto":"error","id":"invalid_request","data":"Message is too large"}"#])
    }
}
