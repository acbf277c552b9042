import RelayCore
import Testing

/// Messages of clients that weren't written for the gateway.
@Suite("A client of another server")
struct OtherClientTests {
    @Test(arguments: ["0", "false", "0.0"])
    func `that says mccp 0 gets text and errors uncompressed`(value: String) throws {
        var session = try Conversation(.legacy)
        #expect(session.say(#"{"connect":1,"mccp":\#(value)}"#) == ["dial standard"])
        #expect(session.connect() == [])
        #expect(session.hear(Array("Höhle\r\n".utf8)) == [#"b H\xc3\xb6hle\r\n"#])
        let again = session.say(#"{"connect":1}"#)
        #expect(again.first?.hasPrefix("b ") == true && again.first?.contains("already has a session") == true)
    }

    @Test(arguments: ["1", "true", "null", #""0""#, "{}"])
    func `that says anything else for mccp gets compressed frames`(value: String) throws {
        var session = try Conversation(.legacy)
        _ = session.say(#"{"connect":1,"mccp":\#(value)}"#)
        _ = session.connect()
        #expect(session.hear(Array("x".utf8)).first?.hasPrefix("S ") == true)
    }

    /// Of the draft's own example; the frame is 120 by 40, in its two forms.
    @Test(arguments: ["AHgAKA==", "//ofAHgAKP/w"])
    func `of the mudstandards draft sends its size in a telnet frame`(frame: String) throws {
        var session = try Conversation(.json)
        _ = session.connect()
        _ = session.hear([255, 253, 31])
        #expect(
            session.say(#"{"proto":"telnet_31","id":"NAWS","data":"\#(frame)"}"#)
                == [#"D \xff\xfa\x1f\x00x\x00(\xff\xf0"#])
    }

    @Test func `of the draft sends its terminal and GMCP too, and ignores what telnet can't express`() throws {
        var session = try Conversation(.json)
        _ = session.connect()
        _ = session.hear([255, 253, 201])
        // "Core.Ping", and 0 "VT100".
        #expect(session.say(#"{"proto":"telnet_201","data":"Q29yZS5QaW5n"}"#).contains { $0.contains("Core.Ping") })
        #expect(session.say(#"{"proto":"telnet_24","id":"TTYPE","data":"AFZUMTAw"}"#) == [])
        #expect(session.say(#"{"proto":"coffeemud","id":"login","data":"x"}"#) == [])
    }

    @Test(arguments: [
        (#"{"proto":"telnet_31","data":"AHgA"}"#, "data is not a message of telnet_31"),
        (#"{"proto":"telnet_31","data":"AAAAAA=="}"#, "data is not a message of telnet_31"),
        (#"{"proto":"telnet_31","data":"%%%"}"#, "data must be base64"),
        (#"{"proto":"telnet_31","data":7}"#, "data must be a string"),
        (#"{"proto":"telnet_24","data":"VlQ="}"#, "data is not a message of telnet_24"),
        (#"{"proto":"telnet_201","data":"AAA="}"#, "data is not a message of telnet_201"),
        (#"{"proto":"telnet_1","data":""}"#, "Unknown proto: telnet_1"),
        (#"{"proto":"telnet_","data":""}"#, "Unknown proto: telnet_"),
    ])
    func `is told what is wrong with such a frame`(message: String, error: String) throws {
        var session = try Conversation(.json)
        _ = session.connect()
        #expect(
            session.say(message) == [#"S {"proto":"error","id":"invalid_request","data":"\#(error)"}"#])
    }

    @Test func `can't send the gateway's own messages in a telnet frame`() throws {
        var session = try Conversation(.json)
        _ = session.connect()
        _ = session.hear([255, 253, 201])
        // "Portcullis.Session {}"
        let answer = session.say(#"{"proto":"telnet_201","data":"UG9ydGN1bGxpcy5TZXNzaW9uIHt9"}"#)
        #expect(answer.count == 1 && answer[0].contains("Unknown message"))
    }

    @Test func `is told which field names a forbidden target, and that TLS failed`() throws {
        var session = try Conversation(.typed)
        let connect = #"{"type":"connect","host":"h","port":22}"#
        for (failure, error) in [
            (DialFailure.portNotAllowed, #""code":"invalid_request","field":"port","message":"port is not allowed""#),
            (.notAllowed, #""code":"invalid_request","field":"host","message":"host is not allowed""#),
            (.notSecured, #""code":"connection_failed","message":"The secure connection to the MUD server failed""#),
        ] {
            _ = session.say(connect)
            session.translation.dialFailed(failure, into: &session.output)
            #expect(session.lines() == [#"S {"type":"error",\#(error)}"#])
        }
    }
}
