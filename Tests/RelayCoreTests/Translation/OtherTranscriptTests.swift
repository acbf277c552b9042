import RelayCore
import Testing

/// Written down from the contracts of the other dialects; they replay byte for byte.
@Suite("A session in the other dialects")
struct OtherTranscriptTests {
    @Test func `legacy: connect as JSON, text in, the deflated stream out`() {
        // Of each frame the first five bytes are the head of a stored block: final, its length, and that inverted.
        let text = #"""
            C look
            S ASIA3f8NClRoaXMgY29ubmVjdGlvbiBoYXMgbm8gc2Vzc2lvbg0K
            C {"connect":1,"host":"mud.example","port":4000,"client":"webmud","ttype":"ansi","mccp":1,"utf8":1,"name":"gandalf"}
            dial mud.example 4000
            C early\n
            connected
            D early\\n
            T Hi\r\n\xff\xfb\x01
            S AQQA+/9IaQ0K
            S AQMA/P//+wE=
            D \xff\xfd\x01
            T \xff\xfb\xc9\xff\xfbE\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0
            D \xff\xfd\xc9\xff\xfdE\xff\xfb\x18\xff\xfa\x18\x00WEBMUD\xff\xf0
            T \xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0> \xff\xf9
            S ARkA5v//+slDaGFyLlZpdGFscyB7ImhwIjoxff/w
            S AQIA/f8+IA==
            T \xff\xfaE\x01HEALTH\x02100\x01EXITS\x02n\x02s\xff\xf0
            S ARAA7///+kUBSEVBTFRIAjEwMP/w
            S ARIA7f//+kUBRVhJVFMCBQJuAnMG//A=
            T \xff\xfc\x01
            S AQMA/P///AE=
            D \xff\xfe\x01
            T \xff\xfb\xc8
            D \xff\xfd\xc8\xff\xfa\xc8hello webmud unknown\nchar_vitals 1\nroom_brief 1\nroom_exits 1\n\xff\xf0
            T \xff\xfa\xc8Room.Brief A room\xff\xf0
            S ARYA6f//+shSb29tLkJyaWVmIEEgcm9vbf/w
            C {"gmcp":"Core.Supports.Set [\"Char 1\"]"}
            D \xff\xfa\xc9Core.Supports.Set ["Char 1"]\xff\xf0
            C {"msdp":{"key":"REPORT","val":["HEALTH"]}}
            D \xff\xfaE\x01REPORT\x02\x05\x02HEALTH\x06\xff\xf0
            C {"chat":1,"channel":"op","msg":"hello"}
            C {"bin":[255,244]}
            C {"type":"input","text":"look"}
            D {"type":"input","text":"look"}
            C {not JSON
            D {not JSON
            B look\n
            D look\r\n
            C {"connect":1}
            S ASkA1v8NClRoaXMgY29ubmVjdGlvbiBhbHJlYWR5IGhhcyBhIHNlc3Npb24NCg==
            close 1008 connection already has a session
            """#
        #expect(Transcript.difference(.legacy, text) == nil)
    }

    @Test(arguments: [
        ("unreachable", "Error: maybe the mud server is down?", "1014 target is unreachable"),
        ("timedOut", "Timeout: server port is down.", "1014 target is unreachable"),
        ("notAllowed", "Error: host is not allowed", "1008 target is not allowed"),
        ("limited", "Error: Connection limit exceeded for this IP address", "1013 too many sessions"),
    ])
    func `legacy: an unreachable target is reported as text, and the connection closes`(
        failure: String, notice: String, close: String
    ) throws {
        let replayed = Transcript.replay(.legacy, "C {\"connect\":true,\"mud\":\"arda\"}\nfailed \(failure)")
        let lines = replayed.split(separator: "\n")
        #expect(lines[1] == "dial route arda" && lines[4] == "close \(close)" && lines.count == 5)
        let frame = decodedBase64(String(lines[3].dropFirst(2)))
        #expect(String(decoding: frame.dropFirst(5), as: UTF8.self) == "\r\n\(notice)\r\n")
    }

    @Test(arguments: [
        (#"{"connect":1}"#, "dial standard"), (#"{"connect":"yes","host":null,"port":null}"#, "dial standard"),
        (#"{"connect":1,"mud":"a","host":7}"#, "dial route a"), (#"{"connect":1,"host":"h"}"#, nil),
        (#"{"connect":1,"port":4000}"#, nil), (#"{"connect":1,"host":"h","port":0}"#, nil),
        (#"{"connect":1,"host":"h","port":65536}"#, nil), (#"{"connect":1,"host":"h","port":"4000"}"#, nil),
        (#"{"connect":1,"host":"","port":1}"#, nil), (#"{"connect":1,"mud":" "}"#, nil),
        (
            #"{"connect":1,"mud":"\#(String(repeating: "m", count: 64))"}"#,
            "dial route \(String(repeating: "m", count: 64))"
        ),
        (#"{"connect":1,"mud":"\#(String(repeating: "m", count: 65))"}"#, nil),
        (#"{"connect":1,"host":"\#(String(repeating: "h", count: 256))","port":1}"#, nil),
    ])
    func `legacy: a connect with an invalid target closes, and one without a target means the default`(
        message: String, order: String?
    ) {
        let lines = Transcript.replay(.legacy, "C " + message).split(separator: "\n").map(String.init)
        #expect(lines.last == order ?? "close 1008 malformed connect")
    }

    @Test func `terminal: text bytes in both directions, and no telnet`() {
        let text = #"""
            T \e[1mWelcome\e[0m\r\n
            B early\n
            connected
            D early\r\n
            T \e[1mWelcome\e[0m\r\n\xff\xfb\x01\xff\xfb\xc9\xff\xfa\xc9Char.Vitals {}\xff\xf0> \xff\xf9
            b \e[1mWelcome\e[0m\r\n
            b > 
            D \xff\xfd\x01\xff\xfd\xc9
            B look \xff\n
            D look \xef\xbf\xbd\r\n
            C {"type":"input","text":"look"}
            D {"type":"input","text":"look"}
            closed
            close 1000 target closed the connection
            """#
        #expect(Transcript.difference(.terminal, text) == nil)
    }

    @Test func `gmcp: text as binary messages, GMCP as text messages, and the gateway's own beside it`() {
        let text = #"""
            C Core.Hello {"client":"Mapper","version":"2.1"}
            C Portcullis.Size {"cols":120,"rows":50}
            connected
            S Portcullis.Session {"id":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","seq":0,"resumed":false}
            T \xff\xfb\xc9\xff\xfd\x1f\xff\xfd\x18\xff\xfa\x18\x01\xff\xf0
            D \xff\xfd\xc9\xff\xfb\x1f\xff\xfb\x18\xff\xfa\x18\x00MAPPER\xff\xf0\xff\xfa\x1f\x00x\x002\xff\xf0\xff\xfa\xc9Core.Hello {"client":"Mapper","version":"2.1"}\xff\xf0
            T Name: \xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfa\xc9Core.Goodbye\xff\xf0\xff\xfa\xc9Note not JSON\xff\xf0\xff\xf9
            b Name: 
            S Char.Vitals {"hp":1}
            S Core.Goodbye
            S Note "not JSON"
            S Portcullis.Prompt
            T \xff\xfa\xc9Portcullis.Ticket {"ticket":"forged"}\xff\xf0\xff\xfa\xc9portcullis.error {}\xff\xf0
            T \xff\xfb\x01\xff\xfbE\xff\xfaE\x01HEALTH\x02100\xff\xf0
            S Portcullis.Echo {"suppressed":true}
            S MSDP.HEALTH "100"
            D \xff\xfd\x01\xff\xfdE
            C MSDP.REPORT "HEALTH"
            D \xff\xfaE\x01REPORT\x02HEALTH\xff\xf0
            C Core.Ping
            D \xff\xfa\xc9Core.Ping\xff\xf0
            C Portcullis.Size {"cols":0,"rows":50}
            S Portcullis.Error {"code":"invalid_request","message":"cols must be an integer between 1 and 65535"}
            C Portcullis.Size
            S Portcullis.Error {"code":"invalid_request","message":"Message must be a JSON object"}
            C Portcullis.Ticket {}
            S Portcullis.Error {"code":"invalid_request","message":"Unknown message: Portcullis.Ticket"}
            C Char.Login gandalf
            S Portcullis.Error {"code":"invalid_request","message":"Message is not valid JSON"}
            C  look
            S Portcullis.Error {"code":"invalid_request","message":"A text message is Package.Name and JSON"}
            ticket abc
            S Portcullis.Ticket {"ticket":"abc","expiresIn":30}
            B look\n
            D look\r\n
            closed
            close 1000 target closed the connection
            """#
        #expect(Transcript.difference(.gmcp, text) == nil)
    }

    /// They stand in a text message as they are: a line end, a blank or an escape would be somebody else's message.
    @Test(arguments: [
        #"A B"#, #"A\r\nPortcullis.Ticket"#, #"\e[2J"#, #"\x7f"#, #"\xc3\xa9"#, String(repeating: "A", count: 129),
    ])
    func `gmcp: names that a message can't contain are dropped`(name: String) {
        let text = [
            "connected",
            #"T \xff\xfbE"#, #"D \xff\xfdE"#,
            #"T \xff\xfaE\x01"# + name + #"\x02100\x01HEALTH\x02100\xff\xf0"#, #"S MSDP.HEALTH "100""#,
        ].joined(separator: "\n")
        #expect(Transcript.difference(.gmcp, outputBufferBytes: 0, text) == nil)
    }

    @Test(arguments: [(128, true), (129, false)])
    func `ATCP names have a maximum length, too`(length: Int, isTold: Bool) {
        let name = String(repeating: "A", count: length)
        let lines = Transcript.replay(
            .gmcp, "connected\nT \\xff\\xfb\\xc8\nT \\xff\\xfa\\xc8\(name) 5\\xff\\xf0"
        ).split(separator: "\n")
        #expect(lines.contains("S ATCP.\(name) \"5\"") == isTold)
    }

    private static let noForm = "MSDP has no form for this: a name is empty, or tables are too deep"

    @Test(
        arguments: [
            (
                DialectKind.gmcp, #"MSDP.\#u{1} 1"#,
                #"S Portcullis.Error {"code":"invalid_request","message":"A text message is Package.Name and JSON"}"#
            ),
            (.gmcp, #"MSDP.A {"":1}"#, #"S Portcullis.Error {"code":"invalid_request","message":"\#(noForm)"}"#),
            (
                .json, #"{"proto":"msdp","id":"A","data":{"b":[{"\u0001":1}]}}"#,
                #"S {"proto":"error","id":"invalid_request","data":"\#(noForm)"}"#
            ),
            (
                .typed, #"{"type":"gmcp","package":"MSDP.A","data":{"":1}}"#,
                #"S {"type":"error","code":"invalid_request","message":"\#(noForm)"}"#
            ),
            (.legacy, #"{"msdp":{"key":"A","val":{"":1}}}"#, nil),
        ] as [(DialectKind, String, String?)])
    func `data that MSDP can't express is an error at once`(kind: DialectKind, message: String, error: String?) {
        let connect =
            [DialectKind.typed: #"C {"type":"connect","host":"h","port":1}"#, .legacy: #"C {"connect":1}"#][kind].map {
                $0 + "\n"
            } ?? ""
        // The option is in force, isn't yet, and comes into force.
        let lines = Transcript.replay(
            kind, connect + "C \(message)\nconnected\nC \(message)\nT \\xff\\xfbE\nC \(message)")
        let said = lines.split(separator: "\n").map(String.init)
        #expect(said.filter { $0 == error }.count == (error == nil ? 0 : 3))
        #expect(said.contains(#"D \xff\xfdE"#) && !said.contains { $0.contains(#"\xff\xfaE"#) })
    }

    @Test func `json: text as binary messages, everything else in envelopes`() {
        let text = #"""
            C {"proto":"terminal","id":"size","data":{"cols":120,"rows":50}}
            C {"proto":"terminal","id":"type","data":"ansi"}
            connected
            S {"proto":"session","id":"","data":"{\"id\":\"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1\",\"token\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"seq\":0,\"resumed\":false}"}
            T \xff\xfb\xc9\xff\xfd\x1f\xff\xfbE\xff\xfb\x01
            S {"proto":"echo","id":"","data":"{\"suppressed\":true}"}
            D \xff\xfd\xc9\xff\xfb\x1f\xff\xfdE\xff\xfd\x01\xff\xfa\x1f\x00x\x002\xff\xf0
            T Name: \xff\xfa\xc9Char.Vitals {"hp":1}\xff\xf0\xff\xfa\xc9Core.Goodbye\xff\xf0\xff\xfa\xc9Note not "JSON"\xff\xf0\xff\xf9
            b Name: 
            S {"proto":"gmcp","id":"Char.Vitals","data":"{\"hp\":1}"}
            S {"proto":"gmcp","id":"Core.Goodbye","data":""}
            S {"proto":"gmcp","id":"Note","data":"\"not \\\"JSON\\\"\""}
            S {"proto":"prompt","id":"","data":""}
            T \xff\xfaE\x01ROOM\x02\x03\x01VNUM\x0212\x04\xff\xf0\xff\xfbF\xff\xfaF\x01NAME\x02Arda\xff\xf0
            S {"proto":"msdp","id":"ROOM","data":"{\"VNUM\":\"12\"}"}
            S {"proto":"mssp","id":"","data":"{\"NAME\":\"Arda\"}"}
            D \xff\xfdF
            C {"proto":"gmcp","id":"Core.Hello","data":"{\"client\":\"Mapper\"}"}
            D \xff\xfa\xc9Core.Hello {"client":"Mapper"}\xff\xf0
            C {"proto":"gmcp","id":"Core.Supports.Set","data":["Char 1"]}
            D \xff\xfa\xc9Core.Supports.Set ["Char 1"]\xff\xf0
            C {"proto":"gmcp","id":"Char.Login","data":"not JSON"}
            D \xff\xfa\xc9Char.Login "not JSON"\xff\xf0
            C {"proto":"gmcp","id":"Core.Ping"}
            D \xff\xfa\xc9Core.Ping\xff\xf0
            C {"proto":"msdp","id":"REPORT","data":"[\"HEALTH\",\"MANA\"]"}
            D \xff\xfaE\x01REPORT\x02\x05\x02HEALTH\x02MANA\x06\xff\xf0
            C {"proto":"text","id":"","data":"look"}
            D look\r\n
            C {"proto":"text","data":"look\n"}
            D look\r\n
            C {"proto":"naws","data":"{\"cols\":90,\"rows\":30}"}
            D \xff\xfa\x1f\x00Z\x00\x1e\xff\xf0
            C {"proto":"naws","data":[90,30]}
            S {"proto":"error","id":"invalid_request","data":"data must be an object"}
            C {"proto":"gmcp","data":"{}"}
            S {"proto":"error","id":"invalid_request","data":"id must be a non-empty string"}
            C {"proto":"gmcp","id":"a b","data":"{}"}
            S {"proto":"error","id":"invalid_request","data":"id must be a name"}
            C {"proto":"telnet_1","id":"","data":"AFAAGA=="}
            S {"proto":"error","id":"invalid_request","data":"Unknown proto: telnet_1"}
            C {"id":"x"}
            S {"proto":"error","id":"invalid_request","data":"proto must be a non-empty string"}
            C look
            S {"proto":"error","id":"invalid_request","data":"Message is not valid JSON"}
            C [1]
            S {"proto":"error","id":"invalid_request","data":"Message must be a JSON object"}
            ticket abc
            S {"proto":"ticket","id":"","data":"{\"ticket\":\"abc\",\"expiresIn\":30}"}
            B look\n
            D look\r\n
            C {"proto":"websocket_close","id":"","data":""}
            close 1000 client disconnected
            """#
        #expect(Transcript.difference(.json, text) == nil)
    }

    @Test(
        arguments: [
            (DialectKind.terminal, nil),
            (
                .gmcp,
                #"S Portcullis.Error {"code":"connection_failed","message":"Could not connect to the MUD server"}"#
            ),
            (.json, #"S {"proto":"error","id":"connection_failed","data":"Could not connect to the MUD server"}"#),
        ] as [(DialectKind, String?)])
    func `terminal, gmcp and json close when their target is unreachable`(kind: DialectKind, message: String?) {
        let expected = ["failed unreachable", message, "close 1014 target is unreachable"].compactMap(\.self)
        #expect(
            Transcript.replay(kind, "failed unreachable\nfailed unreachable")
                == (expected + ["failed unreachable"]).joined(separator: "\n"))
    }
}
