import RelayCore
import Testing

/// Written down from the protocol's contract; they replay byte for byte.
@Suite("A typed session that is resumed")
struct ResumeTypedTests {
    private static let begun = #"""
        C {"type":"connect","host":"mud.example","port":4000}
        dial mud.example 4000
        connected
        S {"type":"session","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","capabilities":["syncAck","echoState","gmcp","prompt","inputAck","gap","tokenRotation"]}

        """#
    private static let resumed =
        #"S {"type":"resumed","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210","capabilities":["syncAck","echoState","gmcp","prompt","inputAck","gap","tokenRotation"]}"#

    @Test func `is told its new token, the repeated state and the output after the last seen number`() {
        let text =
            Self.begun + #"""
                T Name: \xff\xf9\xff\xfb\xc9\xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfa\xc9Room.Info {"num":7}\xff\xf0\xff\xfb\x01
                S {"type":"data","seq":1,"payload":"TmFtZTog"}
                S {"type":"prompt","seq":2}
                S {"type":"gmcp","seq":3,"package":"Char.Vitals","data":{"hp":1}}
                S {"type":"gmcp","seq":4,"package":"Room.Info","data":{"num":7}}
                S {"type":"echo","seq":5,"suppressed":true}
                D \xff\xfd\xc9\xff\xfd\x01
                detached
                tell detached
                D \xff\xfa\xc9Portcullis.Session {"state":"detached"}\xff\xf0
                T \xff\xfa\xc9Char.Vitals {"hp":2}\xff\xf0Hello\r\n\xff\xf9
                S {"type":"gmcp","seq":6,"package":"Char.Vitals","data":{"hp":2}}
                S {"type":"data","seq":7,"payload":"SGVsbG8NCg=="}
                S {"type":"prompt","seq":8}
                attached 5
                \#(Self.resumed)
                S {"type":"gmcp","seq":4,"package":"Room.Info","data":{"num":7},"replayed":true}
                S {"type":"echo","seq":5,"suppressed":true,"replayed":true}
                S {"type":"gmcp","seq":6,"package":"Char.Vitals","data":{"hp":2},"replayed":true}
                S {"type":"data","seq":7,"payload":"SGVsbG8NCg==","replayed":true}
                S {"type":"prompt","seq":8,"replayed":true}
                tell attached
                D \xff\xfa\xc9Portcullis.Session {"state":"attached"}\xff\xf0
                T \xff\xfc\x01
                S {"type":"echo","seq":9,"suppressed":false}
                D \xff\xfe\x01
                attached 9
                \#(Self.resumed)
                S {"type":"gmcp","seq":4,"package":"Room.Info","data":{"num":7},"replayed":true}
                S {"type":"gmcp","seq":6,"package":"Char.Vitals","data":{"hp":2},"replayed":true}
                S {"type":"echo","seq":9,"suppressed":false,"replayed":true}
                attached 0
                \#(Self.resumed)
                S {"type":"data","seq":1,"payload":"TmFtZTog","replayed":true}
                S {"type":"prompt","seq":2,"replayed":true}
                S {"type":"gmcp","seq":3,"package":"Char.Vitals","data":{"hp":1},"replayed":true}
                S {"type":"gmcp","seq":4,"package":"Room.Info","data":{"num":7},"replayed":true}
                S {"type":"echo","seq":5,"suppressed":true,"replayed":true}
                S {"type":"gmcp","seq":6,"package":"Char.Vitals","data":{"hp":2},"replayed":true}
                S {"type":"data","seq":7,"payload":"SGVsbG8NCg==","replayed":true}
                S {"type":"prompt","seq":8,"replayed":true}
                S {"type":"echo","seq":9,"suppressed":false,"replayed":true}
                """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `is told the gap before the repeated state, so that numbers only rise`() {
        let text =
            Self.begun + #"""
                T \xff\xfb\xc9\xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfb\x01Hello, world\r\n
                S {"type":"gmcp","seq":1,"package":"Char.Vitals","data":{"hp":1}}
                S {"type":"echo","seq":2,"suppressed":true}
                S {"type":"data","seq":3,"payload":"SGVsbG8sIHdvcmxkDQo="}
                D \xff\xfd\xc9\xff\xfd\x01
                detached
                T 0123456789abcdef0123456789abcdef
                S {"type":"data","seq":4,"payload":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
                attached 0
                \#(Self.resumed)
                S {"type":"gap","fromSeq":1,"toSeq":3,"bytes":43}
                S {"type":"gmcp","seq":1,"package":"Char.Vitals","data":{"hp":1},"replayed":true}
                S {"type":"echo","seq":2,"suppressed":true,"replayed":true}
                S {"type":"data","seq":4,"payload":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=","replayed":true}
                attached 2
                \#(Self.resumed)
                S {"type":"gap","fromSeq":3,"toSeq":3,"bytes":14}
                S {"type":"gmcp","seq":1,"package":"Char.Vitals","data":{"hp":1},"replayed":true}
                S {"type":"echo","seq":2,"suppressed":true,"replayed":true}
                S {"type":"data","seq":4,"payload":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=","replayed":true}
                attached 18446744073709551615
                \#(Self.resumed)
                S {"type":"gmcp","seq":1,"package":"Char.Vitals","data":{"hp":1},"replayed":true}
                S {"type":"echo","seq":2,"suppressed":true,"replayed":true}
                """#
        #expect(Transcript.difference(.typed, outputBufferBytes: 40, text) == nil)
    }

    @Test func `asks before it connects, and may ask again or connect when it is refused`() {
        let text = #"""
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":7}
            resume s t 7
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":7}
            S {"type":"error","code":"invalid_request","message":"This connection already has a session"}
            C {"type":"connect","host":"mud.example","port":4000}
            S {"type":"error","code":"invalid_request","message":"This connection already has a session"}
            C {"type":"input","text":"look","cid":1}
            S {"type":"error","code":"invalid_request","message":"This connection has no session","cid":1}
            unresumed invalid
            S {"type":"error","code":"invalid_resume","message":"The session can't be resumed by this client"}
            unresumed invalid
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":7}
            resume s t 7
            unresumed unavailable
            S {"type":"error","code":"rate_limited","message":"The session can't be resumed now"}
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":7}
            resume s t 7
            unresumed expired
            S {"type":"error","code":"session_expired","message":"The session has expired"}
            C {"type":"connect","host":"mud.example","port":4000}
            dial mud.example 4000
            attached 0
            failed limited
            S {"type":"error","code":"rate_limited","message":"Connection limit exceeded for this IP address"}
            """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `drops acknowledged messages, but not by the number of another session`() {
        let text =
            Self.begun + #"""
                T one
                S {"type":"data","seq":1,"payload":"b25l"}
                T two
                S {"type":"data","seq":2,"payload":"dHdv"}
                C {"type":"syncAck","sessionId":"another","lastSeq":2}
                attached 0
                \#(Self.resumed)
                S {"type":"data","seq":1,"payload":"b25l","replayed":true}
                S {"type":"data","seq":2,"payload":"dHdv","replayed":true}
                C {"type":"syncAck","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","lastSeq":1}
                attached 1
                \#(Self.resumed)
                S {"type":"data","seq":2,"payload":"dHdv","replayed":true}
                attached 0
                \#(Self.resumed)
                S {"type":"gap","fromSeq":1,"toSeq":1,"bytes":3}
                S {"type":"data","seq":2,"payload":"dHdv","replayed":true}
                """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `applies each numbered input once and acknowledges it each time`() {
        let text =
            #"""
            C {"type":"input","text":"before","cid":1}
            S {"type":"error","code":"invalid_request","message":"This connection has no session","cid":1}
            C {"type":"connect","host":"mud.example","port":4000}
            dial mud.example 4000
            C {"type":"input","text":"early ","cid":1}
            S {"type":"inputAck","cid":1}
            C {"type":"input","text":"early ","cid":1}
            S {"type":"inputAck","cid":1}
            connected
            S {"type":"session","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","capabilities":["syncAck","echoState","gmcp","prompt","inputAck","gap","tokenRotation"]}
            D early 
            C {"type":"input","text":"early ","cid":1}
            S {"type":"inputAck","cid":1}
            C {"type":"input","text":"north\n","cid":3}
            S {"type":"inputAck","cid":3}
            D north\r\n
            detached
            attached 0
            \#(Self.resumed)
            C {"type":"input","text":"north\n","cid":3}
            S {"type":"inputAck","cid":3}
            C {"type":"input","text":"west\n","cid":2}
            S {"type":"inputAck","cid":2}
            D west\r\n
            C {"type":"input","text":"west\n","cid":2}
            S {"type":"inputAck","cid":2}
            C {"type":"input","text":"look\n","cid":9007199254740991}
            S {"type":"inputAck","cid":9007199254740991}
            D look\r\n
            C {"type":"input","text":"north\n","cid":4}
            S {"type":"inputAck","cid":4}
            C {"type":"input","text":"north\n","cid":null}
            D north\r\n
            """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `neither marks nor acknowledges an input that couldn't be applied`() throws {
        var session = try Conversation(.typed)
        _ = session.say(#"{"type":"connect","host":"h","port":1}"#)
        let text = String(repeating: "a", count: 32_768)
        #expect(session.say(#"{"type":"input","text":"\#(text)"}"#) == [])
        #expect(
            session.say(#"{"type":"input","text":"b","cid":1}"#) == [
                #"S {"type":"error","code":"invalid_request","message":"Too much was sent before the target was connected","cid":1}"#
            ])
        _ = session.connect()
        #expect(session.say(#"{"type":"input","text":"b","cid":1}"#) == [#"S {"type":"inputAck","cid":1}"#, "D b"])
    }

    @Test func `restarts the count of inputs when a second target is dialled`() throws {
        var session = try Conversation(.typed)
        _ = session.say(#"{"type":"connect","host":"h","port":1}"#)
        #expect(session.say(#"{"type":"input","text":"a","cid":1}"#) == [#"S {"type":"inputAck","cid":1}"#])
        session.translation.dialFailed(.unreachable, into: &session.output)
        _ = session.say(#"{"type":"connect","host":"h","port":1}"#)
        _ = session.say(#"{"type":"input","text":"b","cid":1}"#)
        #expect(session.connect().last == "D b")
    }

    @Test func `gets no acknowledgement while it reads nothing, and gets it on its next request`() throws {
        var session = try Conversation(.typed)
        _ = session.say(#"{"type":"connect","host":"h","port":1}"#)
        _ = session.connect()
        let input = #"{"type":"input","text":"a","cid":1}"#
        session.translation.receive(bytes(input), isText: true, isLast: true, canAnswer: false, into: &session.output)
        #expect(session.lines() == ["D a"])
        #expect(session.say(input) == [#"S {"type":"inputAck","cid":1}"#])
    }

    @Test func `is told of the gateway's shutdown`() {
        let text =
            Self.begun + #"""
                draining 7500
                S {"type":"draining","reconnectAfterMs":7500}
                tell detached
                """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `can't be resumed where nothing is kept, and is told so`() throws {
        let text = #"""
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":0}
            S {"type":"error","code":"session_expired","message":"The session has expired"}
            C {"type":"connect","host":"mud.example","port":4000}
            dial mud.example 4000
            connected
            S {"type":"session","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","capabilities":["syncAck","echoState","gmcp","prompt","inputAck"]}
            T Hello
            S {"type":"data","seq":1,"payload":"SGVsbG8="}
            C {"type":"resume","sessionId":"s","token":"t","lastSeq":0}
            S {"type":"error","code":"session_expired","message":"The session has expired"}
            attached 0
            """#
        #expect(Transcript.difference(.typed, outputBufferBytes: 0, text) == nil)
    }
}
