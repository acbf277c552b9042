import RelayCore
import Testing

/// Written down from the contracts of the dialects that count bytes; they replay byte for byte.
@Suite("A gmcp or json session that is resumed")
struct ResumeOtherTests {
    private static let id = "3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1"
    private static let tokens = [
        false: String(repeating: "0123456789abcdef", count: 4), true: String(repeating: "fedcba9876543210", count: 4),
    ]

    private static func gmcp(_ seq: Int, resumed: Bool) -> String {
        #"S Portcullis.Session {"id":"\#(id)","token":"\#(tokens[resumed]!)","seq":\#(seq),"resumed":\#(resumed)}"#
    }

    private static func json(_ seq: Int, resumed: Bool) -> String {
        #"S {"proto":"session","id":"","data":"{\"id\":\"\#(id)\",\"token\":\"\#(tokens[resumed]!)\",\"seq\":\#(seq),\"resumed\":\#(resumed)}"}"#
    }

    @Test func `gmcp: repeated state comes first, then session and sequence number, then the rest`() {
        let text = #"""
            connected
            \#(Self.gmcp(0, resumed: false))
            T Name: \xff\xf9\xff\xfb\xc9\xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfa\xc9Room.Info\xff\xf0\xff\xfb\x01
            b Name: 
            S Portcullis.Prompt
            S Char.Vitals {"hp":1}
            S Room.Info
            S Portcullis.Echo {"suppressed":true}
            D \xff\xfd\xc9\xff\xfd\x01
            detached
            T \xff\xfa\xc9Char.Vitals {"hp":2}\xff\xf0Hello\r\n\xff\xf9
            S Char.Vitals {"hp":2}
            b Hello\r\n
            S Portcullis.Prompt
            attached 35
            S Room.Info
            \#(Self.gmcp(35, resumed: true))
            S Portcullis.Echo {"suppressed":true}
            S Char.Vitals {"hp":2}
            b Hello\r\n
            S Portcullis.Prompt
            attached 57
            S Room.Info
            S Char.Vitals {"hp":2}
            S Portcullis.Echo {"suppressed":true}
            \#(Self.gmcp(57, resumed: true))
            b llo\r\n
            S Portcullis.Prompt
            attached 40
            S Room.Info
            S Portcullis.Echo {"suppressed":true}
            \#(Self.gmcp(35, resumed: true))
            S Char.Vitals {"hp":2}
            b Hello\r\n
            S Portcullis.Prompt
            attached 6
            \#(Self.gmcp(6, resumed: true))
            S Portcullis.Prompt
            S Char.Vitals {"hp":1}
            S Room.Info
            S Portcullis.Echo {"suppressed":true}
            S Char.Vitals {"hp":2}
            b Hello\r\n
            S Portcullis.Prompt
            draining 5000
            S Portcullis.Draining {"reconnectAfterMs":5000}
            tell attached
            D \xff\xfa\xc9Portcullis.Session {"state":"attached"}\xff\xf0
            """#
        #expect(Transcript.difference(.gmcp, text) == nil)
    }

    @Test func `gmcp: the gap follows the sequence number`() {
        let text = #"""
            connected
            \#(Self.gmcp(0, resumed: false))
            T \xff\xfb\xc9\xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0Hello
            S Char.Vitals {"hp":1}
            b Hello
            D \xff\xfd\xc9
            detached
            T 0123456789
            b 0123456789
            attached 3
            S Char.Vitals {"hp":1}
            \#(Self.gmcp(25, resumed: true))
            S Portcullis.Gap {"fromSeq":4,"toSeq":25,"bytes":22}
            b 0123456789
            attached 99
            S Char.Vitals {"hp":1}
            \#(Self.gmcp(35, resumed: true))
            """#
        #expect(Transcript.difference(.gmcp, outputBufferBytes: 14, text) == nil)
    }

    @Test func `json: a resume is answered in envelopes`() {
        let text = #"""
            connected
            \#(Self.json(0, resumed: false))
            T \xff\xfb\xc9\xff\xfa\xc9A {"hp":1}\xff\xf0\xff\xfb\x01Hello
            S {"proto":"gmcp","id":"A","data":"{\"hp\":1}"}
            S {"proto":"echo","id":"","data":"{\"suppressed\":true}"}
            b Hello
            D \xff\xfd\xc9\xff\xfd\x01
            detached
            T 0123456789
            b 0123456789
            attached 0
            S {"proto":"gmcp","id":"A","data":"{\"hp\":1}"}
            \#(Self.json(45, resumed: true))
            S {"proto":"gap","id":"","data":"{\"fromSeq\":1,\"toSeq\":45,\"bytes\":45}"}
            S {"proto":"echo","id":"","data":"{\"suppressed\":true}"}
            b Hello
            b 0123456789
            draining 5000
            S {"proto":"draining","id":"","data":"{\"reconnectAfterMs\":5000}"}
            """#
        #expect(Transcript.difference(.json, outputBufferBytes: 20, text) == nil)
    }

    @Test(arguments: [
        ("expired", "session_expired", "The session has expired", "1008 session_expired"),
        ("invalid", "invalid_resume", "The session can't be resumed by this client", "1008 invalid_resume"),
        ("unavailable", "rate_limited", "The session can't be resumed now", "1013 too many sessions"),
    ])
    func `a failed resume is reported as text, and the connection closes`(
        failure: String, code: String, message: String, close: String
    ) {
        #expect(
            Transcript.replay(.gmcp, "unresumed \(failure)") == """
                unresumed \(failure)
                S Portcullis.Error {"code":"\(code)","message":"\(message)"}
                close \(close)
                """)
        #expect(
            Transcript.replay(.json, "unresumed \(failure)") == """
                unresumed \(failure)
                S {"proto":"error","id":"\(code)","data":"\(message)"}
                close \(close)
                """)
    }

    @Test(arguments: [DialectKind.gmcp, .json, .terminal])
    func `is told as text that its lease is refused, and closes`(kind: DialectKind) {
        #expect(Transcript.replay(kind, "failed limited").hasSuffix("close 1013 too many sessions"))
    }

    @Test(arguments: [DialectKind.gmcp, .json])
    func `isn't promised a resume where nothing is kept`(kind: DialectKind) {
        let text = "connected\nT Hello\nb Hello\nattached 0"
        #expect(Transcript.difference(kind, outputBufferBytes: 0, text) == nil)
    }

    @Test func `terminal and legacy can't be resumed and carry no notices`() {
        let text = "connected\nT Hello\nb Hello\nattached 0\ndraining 5000"
        #expect(Transcript.difference(.terminal, text) == nil)
        #expect(Transcript.difference(.legacy, "draining 5000\nunresumed expired") == nil)
    }

    @Test func `is resumable while connected, and ends only with certain close codes`() throws {
        for (kind, resumable) in [
            (DialectKind.typed, true), (.gmcp, true), (.json, true), (.terminal, false), (.legacy, false),
        ] {
            var session = try Conversation(kind)
            #expect(!session.translation.isResumable && session.translation.endsSession(closeCode: nil))
            _ = session.say(#"{"type":"connect","connect":1,"host":"h","port":1}"#)
            if kind == .legacy { _ = session.say(#"{"connect":1}"#) }
            _ = session.connect()
            #expect(session.translation.isResumable == resumable)
            #expect(session.translation.hasNotices == resumable)
            for code: UInt16? in [nil, 1001, 1006, 1008, 4000] {
                #expect(session.translation.endsSession(closeCode: code) == !resumable)
            }
            #expect(session.translation.endsSession(closeCode: 1000) == (kind != .typed))
            session.translation.targetClosed(into: &session.output)
            #expect(!session.translation.isResumable && session.translation.endsSession(closeCode: nil))
        }
    }

    @Test func `a message cut off by the connection's loss is dropped, and so is an oversized one`() throws {
        var session = try Conversation(.gmcp)
        _ = session.connect()
        #expect(session.say("never sent", isText: false, isLast: false) == [])
        session.translation.detached()
        session.translation.attached(Transcript.resumed, after: 0, into: &session.output)
        _ = session.lines()
        #expect(session.say("look\n", isText: false) == [#"D look\r\n"#])
        // A takeover: the loss of the previous connection wasn't reported.
        #expect(session.say("never sent", isText: false, isLast: false) == [])
        session.translation.attached(Transcript.resumed, after: 0, into: &session.output)
        _ = session.lines()
        #expect(session.say("north\n", isText: false) == [#"D north\r\n"#])
    }
}
