import Telnet
import Testing

@testable import RelayCore

/// What a browser client of mud-web-proxy learns of its target: the password mode from the telnet command in the
/// stream, GMCP and MSDP from messages of their own.
@Suite("A client of the legacy dialect")
struct LegacyTranscriptTests {
    private static let opened = "C {\"connect\":1,\"mccp\":0}\nconnected\n"

    @Test func `without compression gets text and echo as binary messages, GMCP and MSDP as JSON`() {
        let text = #"""
            C {"connect":1,"utf8":1,"mccp":0,"debug":0,"ttype":"xterm","name":"gandalf","mxp":1,"mud":"arda"}
            dial route arda
            connected
            T {Name}: \xff\xfb\x01
            b {Name}: 
            b \xff\xfb\x01
            D \xff\xfd\x01
            C secret\r\n
            D secret\\r\\n
            T \xff\xfc\x01\r\n\xff\xfb\xc9\xff\xfbE\xff\xfbF\xff\xfb\xc8
            b \xff\xfc\x01
            b \r\n
            D \xff\xfe\x01\xff\xfd\xc9\xff\xfdE\xff\xfdF\xff\xfd\xc8\xff\xfa\xc8hello Portcullis 1.0\nchar_vitals 1\nroom_brief 1\nroom_exits 1\n\xff\xf0
            T \xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfa\xc9Core.Goodbye\xff\xf0\xff\xfa\xc9Note not "JSON"\xff\xf0> \xff\xf9
            S {"gmcp":"Char.Vitals {\"hp\":1}"}
            S {"gmcp":"Core.Goodbye"}
            S {"gmcp":"Note not \"JSON\""}
            b > 
            T \xff\xfaE\x01HEALTH\x02100\x01EXITS\x02n\x02s\x01ROOM\x02\x03\x01VNUM\x027\x04\xff\xf0
            S {"msdp":{"key":"HEALTH","val":"100"}}
            S {"msdp":{"key":"EXITS","val":["n","s"]}}
            S {"msdp":{"key":"ROOM","val":{"VNUM":"7"}}}
            T \xff\xfa\xc8Room.Brief A "room"\xff\xf0\xff\xfaF\x01NAME\x02Arda\xff\xf0
            S {"gmcp":"Room.Brief A \"room\""}
            T \xff\xfa\xc9Portcullis.Ticket {}\xff\xf0
            S {"gmcp":"Portcullis.Ticket {}"}
            C {"gmcp":"Core.Ping"}
            D \xff\xfa\xc9Core.Ping\xff\xf0
            closed
            close 1000 target closed the connection
            """#
        #expect(Transcript.difference(.legacy, text) == nil)
    }

    /// What comes from the target stands in JSON; no byte of it ends the text, or is shown as it is.
    @Test(arguments: [
        (#"\x07\e]0;\r\nx"#, #"\u0007\u001b]0;\r\nx"#), (#"\x00a"#, "a"), (#"\xc3("#, "Ã("), (#"\xff\xff"#, "ÿ"),
        (#""}{"\\"#, #"\"}{\"\\"#),
    ])
    func `what isn't JSON is escaped and repaired`(data: String, written: String) {
        let lines = Transcript.replay(
            .legacy, Self.opened + "T \\xff\\xfb\\xc9\nT \\xff\\xfa\\xc9A \(data)\\xff\\xf0"
        ).split(separator: "\n")
        #expect(lines.last == "S {\"gmcp\":\"A \(written)\"}")
    }

    /// The bytes that the client looks for are never split between messages, and no text contains one of them.
    @Test func `is the same however the target's stream is split`() {
        let stream =
            #"T a\xff\xfb\x01b\xff\xfc\x01c\xc3\xa9\xff\xfb\xc9"#
            + #"\xff\xfa\xc9A.B {"x":"\xc3\xa9"}\xff\xf0\xff\xff."#
        for compression in ["", #","mccp":0"#] {
            let connect = "C {\"connect\":1\(compression)}\nconnected\n"
            let whole = gathered(Transcript.replay(.legacy, connect + stream))
            #expect(whole.count == 6 + 1)
            for size in 1...40 {
                #expect(gathered(Transcript.replay(.legacy, pieceBytes: size, connect + stream)) == whole, "\(size)")
            }
        }
    }

    /// The client's messages: those of text that follow each other count as one.
    private func gathered(_ transcript: String) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        var isText = false
        for line in transcript.split(separator: "\n") where line.hasPrefix("b ") || line.hasPrefix("S ") {
            var bytes = unescaped(String(line.dropFirst(2)))
            // A stored block: its head has five bytes.
            if line.hasPrefix("S "), !line.hasPrefix("S {") {
                bytes = Array(decodedBase64(String(line.dropFirst(2))).dropFirst(5))
            }
            let isNextText = !line.hasPrefix("S {") && bytes.first != 255
            if isText, isNextText { messages[messages.count - 1] += bytes } else { messages.append(bytes) }
            isText = isNextText
        }
        return messages
    }

    @Test func `gets MSDP whatever its names and values hold`() {
        let text = #"""
            C {"connect":1,"mccp":0}
            dial standard
            connected
            T \xff\xfbE
            D \xff\xfdE
            T \xff\xfaE\x01A "B"\e\x02\\\x07\xff\xf0
            S {"msdp":{"key":"A \"B\"\u001b","val":"\\\u0007"}}
            """#
        #expect(Transcript.difference(.legacy, text) == nil)
    }

    // MARK: The limits

    /// A subnegotiation of the target is the longest thing that one message stands for.
    @Test(arguments: [true, false])
    func `gets the longest subnegotiation in one message, and none that is longer`(compresses: Bool) throws {
        let limit = 65_536
        for (size, isTold) in [(limit, true), (limit + 1, false)] {
            var session = try Conversation(.legacy)
            _ = session.say(compresses ? #"{"connect":1}"# : #"{"connect":1,"mccp":0}"#)
            _ = session.connect()
            _ = session.hear([255, 251, 201])
            let data = [UInt8](repeating: 1, count: size - 2)
            let lines = session.hear([255, 250, 201] + Array("A ".utf8) + data + [255, 240])
            #expect(lines.count == (isTold ? 1 : 0))
            #expect((lines.first?.utf8.count ?? 0) < 7 * limit)
        }
    }

    @Test func `gets no name that isn't one`() throws {
        var session = try Conversation(.legacy)
        _ = session.say(#"{"connect":1,"mccp":0}"#)
        _ = session.connect()
        _ = session.hear([255, 251, 201])
        for (length, isTold) in [(GMCP.maximumNameBytes, true), (GMCP.maximumNameBytes + 1, false)] {
            let name = [UInt8](repeating: UInt8(ascii: "A"), count: length)
            #expect(session.hear([255, 250, 201] + name + [255, 240]).isEmpty == !isTold)
        }
        #expect(session.hear([255, 250, 201, 7] + Array(" {}".utf8) + [255, 240]).isEmpty)
    }
}
