import RelayCore
import Telnet
import Testing

@Suite("A translation's limits")
struct TranslationLimitTests {
    @Test func `accepts a message of the maximum size, whole or split, and refuses one byte more`() throws {
        for pieces in [1, 3, 64] {
            var session = try Conversation(.typed, maximumMessageBytes: 200)
            #expect(
                session.say(message(of: 200), pieces: pieces) == [
                    #"S {"type":"error","code":"invalid_request","message":"This connection has no session"}"#
                ])
            #expect(
                session.say(message(of: 201), pieces: pieces) == [
                    #"S {"type":"error","code":"invalid_request","message":"Message is too large"}"#
                ])
            #expect(session.say(#"{"type":"connect","host":"h","port":1}"#, pieces: pieces) == ["dial h 1"])
        }
    }

    /// A message with this much text; the rest of the message doesn't count.
    private func message(of size: Int) -> String {
        #"{"type":"input","text":""# + String(repeating: "x", count: size) + #""}"#
    }

    @Test func `doesn't buffer more of a message than it would accept`() throws {
        var session = try Conversation(.terminal, maximumMessageBytes: 1_000)
        for _ in 0..<1_000 { #expect(session.say("0123456789", isLast: false) == []) }
        #expect(session.say("end") == [])
        #expect(session.connect() == [])
        #expect(session.say("look\n") == [#"D look\r\n"#])
    }

    @Test func `limits the commands and bytes kept for a target that isn't connected yet`() throws {
        let refusal = [
            #"S {"proto":"error","id":"invalid_request","data":"Too much was sent before the target was connected"}"#
        ]
        let ping = #"{"proto":"gmcp","id":"Core.Ping","data":""}"#
        var session = try Conversation(.json)
        for _ in 0..<64 { #expect(session.say(ping) == []) }
        #expect(session.say(ping) == refusal)

        session = try Conversation(.json)
        #expect(session.say(String(repeating: "a", count: 32_768), isText: false) == [])
        #expect(session.say("a", isText: false) == refusal)
        #expect(session.say(#"{"proto":"naws","data":{"cols":1,"rows":1}}"#) == [])
        #expect(session.connect().last == "D " + String(repeating: "a", count: 32_768))
    }

    @Test func `keeps a burst of input whole and in order until the target is connected`() throws {
        var session = try Conversation(.json)
        for index in 0..<1_000 { #expect(session.say("<\(index)>", isText: false) == []) }
        #expect(session.say(#"{"proto":"naws","data":{"cols":1,"rows":1}}"#) == [])
        for index in 1_000..<2_000 { #expect(session.say("<\(index)>", isText: false) == []) }
        #expect(session.connect().last == "D " + (0..<2_000).map { "<\($0)>" }.joined())
    }

    @Test func `pauses its client while a lot waits for a target that is dialled`() throws {
        for isReached in [true, false] {
            var session = try Conversation(.json)
            #expect(session.say(String(repeating: "a", count: 16_384), isText: false) == [])
            #expect(!session.translation.holdsClientBack)
            #expect(session.say("a", isText: false) == [])
            #expect(session.translation.holdsClientBack)
            if isReached {
                _ = session.connect()
            } else {
                session.translation.dialFailed(.unreachable, into: &session.output)
            }
            #expect(!session.translation.holdsClientBack)
        }
        // A command that waits for an option may wait forever.
        var session = try Conversation(.gmcp)
        _ = session.connect()
        for _ in 0..<2 { #expect(session.say("A \"" + String(repeating: "b", count: 10_000) + "\"") == []) }
        #expect(!session.translation.holdsClientBack)
    }

    @Test func `answers every refused input with its number and doesn't count it as applied`() throws {
        var session = try Conversation(.typed)
        let line = #"{"type":"input","text":"a","cid":7}"#
        let noSession = #"{"type":"error","code":"invalid_request","message":"This connection has no session","cid":7}"#
        #expect(session.say(line) == ["S " + noSession])
        #expect(session.say(#"{"type":"connect","host":"h","port":1}"#) == ["dial h 1"])
        let text = String(repeating: "b", count: 32_768)
        #expect(session.say(#"{"type":"input","text":"\#(text)"}"#) == [])
        for cid in 7...9 {
            #expect(
                session.say(#"{"type":"input","text":"a","cid":\#(cid)}"#) == [
                    #"S {"type":"error","code":"invalid_request","message":"Too much was sent before the target was connected","cid":\#(cid)}"#
                ])
        }
        #expect(
            session.say(#"{"type":"input","text":5,"cid":8}"#) == [
                #"S {"type":"error","code":"invalid_request","field":"text","message":"text must be a string","cid":8}"#
            ])
        _ = session.connect()
        #expect(session.say(line) == [#"S {"type":"inputAck","cid":7}"#, "D a"])
    }

    @Test func `keeps GMCP until the target agrees to it, and reports when there is no room`() throws {
        var session = try Conversation(.gmcp)
        _ = session.connect()
        for index in 0..<64 { #expect(session.say("A.\(index)") == []) }
        #expect(
            session.say("A.64") == [
                #"S Portcullis.Error {"code":"invalid_request","message":"The target doesn't take out-of-band messages"}"#
            ])
        #expect(session.say("look\n", isText: false) == [#"D look\r\n"#])
        let messages = (0..<64).map { #"\xff\xfa\xc9A.\#($0)\xff\xf0"# }.joined()
        #expect(session.hear([255, 251, 201]) == [#"D \xff\xfd\xc9"# + messages])
        #expect(session.say("A.65") == [#"D \xff\xfa\xc9A.65\xff\xf0"#])
    }

    @Test func `keeps the order of messages that wait`() throws {
        var session = try Conversation(.gmcp)
        _ = session.connect()
        let hello = #"Core.Hello {"client":"a"}"#
        for text in [hello, "B", hello, "MSDP.C 1"] { #expect(session.say(text) == []) }
        let gmcp = [hello, "B", hello].map { #"\xff\xfa\xc9\#($0)\xff\xf0"# }.joined()
        #expect(session.hear([255, 251, 201]) == [#"D \xff\xfd\xc9"# + gmcp])
        #expect(session.hear([255, 251, 69]) == [#"D \xff\xfdE\xff\xfaE\x01C\x021\xff\xf0"#])
    }

    @Test func `holds telnet answers while there is no room toward the target`() throws {
        var session = try Conversation(.terminal)
        _ = session.connect()
        #expect(session.hear([255, 251, 1, 255, 251, 3], canReply: false) == [])
        session.translation.reply(into: &session.output)
        #expect(session.lines() == [#"D \xff\xfd\x01\xff\xfd\x03"#])
        #expect(session.hear([255, 251, 25]) == [#"D \xff\xfd\x19"#])
    }

    @Test func `omits errors while there is no room toward the client`() throws {
        var session = try Conversation(.typed)
        session.translation.receive(bytes("{"), isText: true, isLast: true, canAnswer: false, into: &session.output)
        #expect(session.lines() == [])
        #expect(session.say("{").count == 1)
    }

    @Test func `accepts nothing from a target that isn't connected`() throws {
        var session = try Conversation(.terminal)
        var input = bytes("hello")
        #expect(!session.translation.next(&input, now: 0, into: &session.output) && input == bytes("hello"))
        _ = session.connect()
        #expect(session.translation.next(&input, now: 0, into: &session.output) && input.isEmpty)
        session.translation.targetClosed(into: &session.output)
        input = bytes("hello")
        #expect(!session.translation.next(&input, now: 0, into: &session.output) && input == bytes("hello"))
    }

    @Test func `ends when the target's compression is broken, with the dialect's last word`() throws {
        var session = try Conversation(.typed) { Broken() }
        _ = session.say(#"{"type":"connect","host":"h","port":1}"#)
        _ = session.connect()
        let heard = session.hear([255, 251, 86] + [255, 250, 86, 255, 240] + Array("garbage".utf8))
        #expect(
            heard == [
                #"S {"type":"disconnected","sessionId":"\#(Transcript.session.id)","reason":"MUD connection closed"}"#,
                #"D \xff\xfdV"#, "close 1014 target sent a broken stream",
            ])
        #expect(session.say(#"{"type":"input","text":"look"}"#) == [])
    }

    @Test func `doesn't exist for a raw session, and exists for every other dialect`() {
        for kind in DialectKind.allCases { #expect((Transcript(kind) == nil) == (kind == .raw)) }
    }

    @Test func `doesn't show a session's token in its description`() {
        #expect("\(Transcript.session)" == Transcript.session.id)
        #expect(!String(reflecting: Transcript.session).contains(Transcript.session.token))
    }
}

private struct Broken: Decompressor {
    mutating func decompress(
        _ input: inout ArraySlice<UInt8>, limit: Int
    ) throws(DecompressionError) -> Decompressed {
        throw .corrupt
    }
}

/// A translation, and what it puts out, as lines of a transcript.
struct Conversation {
    var translation: Translation
    var output = TranslationOutput()

    init(
        _ kind: DialectKind, maximumMessageBytes: Int = 65_536, outputBufferBytes: Int = 51_200,
        makeDecompressor: (@Sendable () -> any Decompressor)? = nil
    ) throws {
        translation = try #require(
            Translation(
                kind: kind, client: ClientDescription(), maximumMessageBytes: maximumMessageBytes,
                outputBufferBytes: outputBufferBytes, compressor: Stored(), makeDecompressor: makeDecompressor))
    }

    mutating func say(_ text: String, isText: Bool = true, pieces: Int = 1, isLast: Bool = true) -> [String] {
        var rest = bytes(text)
        let length = max(1, (rest.count + pieces - 1) / pieces)
        repeat {
            let piece = rest.prefix(length)
            rest = rest.dropFirst(length)
            translation.receive(piece, isText: isText, isLast: isLast && rest.isEmpty, into: &output)
        } while !rest.isEmpty
        return lines()
    }

    mutating func connect() -> [String] {
        translation.connected(Transcript.session, telnet: Transcript.telnet, into: &output)
        return lines()
    }

    mutating func hear(_ bytes: [UInt8], canReply: Bool = true) -> [String] {
        var input = bytes[...]
        while translation.next(&input, now: 0, canReply: canReply, into: &output) {}
        return lines()
    }

    mutating func lines() -> [String] {
        defer { output.removeAll() }
        return Transcript.lines(of: output, translation)
    }
}
