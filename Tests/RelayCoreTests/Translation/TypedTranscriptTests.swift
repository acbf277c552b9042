import RelayCore
import Testing

/// Written down from the protocol's contract; they replay byte for byte.
@Suite("A typed session")
struct TypedTranscriptTests {
    /// IAC WILL ECHO and WONT ECHO, GMCP (201), MSDP (69), EOR (25) as a MUD sends them.
    static let whole = #"""
        C {"type":"connect","host":"mud.example","port":4000,"width":100,"height":40,"deviceToken":"abc","apiKey":null,"debug":true}
        dial mud.example 4000 100x40
        connected
        S {"type":"session","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","capabilities":["syncAck","echoState","gmcp","prompt","inputAck","gap","tokenRotation"]}
        T Welcome\r\nName: \xff\xf9
        S {"type":"data","seq":1,"payload":"V2VsY29tZQ0KTmFtZTog"}
        S {"type":"prompt","seq":2}
        C {"type":"input","text":"gandalf\r\n"}
        D gandalf\r\n
        T Password: \xff\xfb\x01
        S {"type":"data","seq":3,"payload":"UGFzc3dvcmQ6IA=="}
        S {"type":"echo","seq":4,"suppressed":true}
        D \xff\xfd\x01
        C {"type":"input","text":""}
        C {"type":"input","text":"mellon\n"}
        D mellon\r\n
        T \xff\xfc\x01ok \xc3\xbf\r\n
        S {"type":"echo","seq":5,"suppressed":false}
        S {"type":"data","seq":6,"payload":"b2sgw78NCg=="}
        D \xff\xfe\x01
        C {"type":"gmcp","package":"Core.Supports.Set","data":["Char 1"]}
        T \xff\xfb\xc9
        D \xff\xfd\xc9\xff\xfa\xc9Core.Supports.Set ["Char 1"]\xff\xf0
        T one\xff\xfa\xc9Char.Vitals { "hp": 1 }\xff\xf0two\xff\xfa\xc9Core.Goodbye\xff\xf0\xff\xfa\xc9Room.Name The \"Prancing\" Pony\xff\xf0
        S {"type":"data","seq":7,"payload":"b25l"}
        S {"type":"gmcp","seq":8,"package":"Char.Vitals","data":{ "hp": 1 }}
        S {"type":"data","seq":9,"payload":"dHdv"}
        S {"type":"gmcp","seq":10,"package":"Core.Goodbye","data":null}
        S {"type":"gmcp","seq":11,"package":"Room.Name","data":"The \"Prancing\" Pony"}
        C {"type":"gmcp","package":"Char.Login","data":{"name":"gandalf","password":"mellon"}}
        D \xff\xfa\xc9Char.Login {"name":"gandalf","password":"mellon"}\xff\xf0
        C {"type":"naws","width":255,"height":50}
        T \xff\xfd\x1f
        D \xff\xfb\x1f\xff\xfa\x1f\x00\xff\xff\x002\xff\xf0
        C {"type":"naws","width":80,"height":24}
        D \xff\xfa\x1f\x00P\x00\x18\xff\xf0
        T \xff\xfbE\xff\xfaE\x01HEALTH\x02100\x01ROOM\x02\x03\x01VNUM\x026008\x01EXITS\x02\x05\x02n\x02s\x06\x04\xff\xf0
        S {"type":"gmcp","seq":12,"package":"MSDP.HEALTH","data":"100"}
        S {"type":"gmcp","seq":13,"package":"MSDP.ROOM","data":{"VNUM":"6008","EXITS":["n","s"]}}
        D \xff\xfdE
        C {"type":"gmcp","package":"MSDP.REPORT","data":["HEALTH",7,true,null]}
        D \xff\xfaE\x01REPORT\x02\x05\x02HEALTH\x027\x021\x02\x06\xff\xf0
        T \xff\xfbF\xff\xfaF\x01NAME\x02Arda\x01PORT\x024000\x024001\xff\xf0
        S {"type":"gmcp","seq":14,"package":"MSSP","data":{"NAME":"Arda","PORT":["4000","4001"]}}
        D \xff\xfdF
        C {"type":"syncAck","sessionId":"x","lastSeq":14}
        C {"type":"activityToken","token":"t"}
        C {"type":"resume","sessionId":"x","token":"t","lastSeq":0}
        S {"type":"error","code":"invalid_request","message":"This connection already has a session"}
        C {"type":"connect","host":"other.example","port":1}
        S {"type":"error","code":"invalid_request","message":"This connection already has a session"}
        C say without a type
        D say without a type
        ticket abc
        S {"type":"ticket","ticket":"abc","expiresIn":30}
        keepalive
        D \xff\xf1
        T bye\r\n
        S {"type":"data","seq":15,"payload":"YnllDQo="}
        closed
        S {"type":"disconnected","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","reason":"MUD connection closed"}
        close 1000 target closed the connection
        C {"type":"input","text":"nobody hears this"}
        """#

    @Test func `replays byte for byte`() {
        #expect(Transcript.difference(.typed, Self.whole) == nil)
    }

    @Test func `answers invalid_request before connect, and can connect again after a failed dial`() {
        let text = #"""
            C {"type":"input","text":"look"}
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C {"type":"naws","width":80,"height":24}
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C {"type":"gmcp","package":"Core.Ping"}
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C {"type":"syncAck","sessionId":"x","lastSeq":1}
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C {"type":"activityToken","token":"t"}
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C look
            S {"type":"error","code":"invalid_request","message":"This connection has no session"}
            C {"type":"resume","sessionId":"x","token":"t","lastSeq":0}
            resume x t 0
            unresumed expired
            S {"type":"error","code":"session_expired","message":"The session has expired"}
            C {"type":"connect","host":"mud.example","port":4000}
            dial mud.example 4000
            T not yet
            failed unreachable
            S {"type":"error","code":"connection_failed","message":"Could not connect to the MUD server"}
            C {"type":"connect","host":"mud.example","port":4000}
            dial mud.example 4000
            failed timedOut
            S {"type":"error","code":"connection_failed","message":"The connection to the MUD server timed out"}
            C {"type":"connect","host":"10.0.0.1","port":4000}
            dial 10.0.0.1 4000
            failed notAllowed
            S {"type":"error","code":"invalid_request","field":"host","message":"host is not allowed"}
            C {"type":"connect","target":"staging"}
            dial route staging
            failed limited
            S {"type":"error","code":"rate_limited","message":"Connection limit exceeded for this IP address"}
            C {"type":"disconnect"}
            close 1000 client disconnected
            """#
        #expect(Transcript.difference(.typed, text) == nil)
    }

    @Test func `keeps output that arrives while the target is dialled, and sends it after the session message`() {
        let text = #"""
            C {"type":"connect","host":"mud.example","port":4000,"width":null}
            dial mud.example 4000 132x43
            C {"type":"naws","width":90,"height":30}
            C {"type":"input","text":"hello\n"}
            C {"type":"gmcp","package":"Core.Ping"}
            C {"type":"connect","host":"mud.example","port":4000}
            S {"type":"error","code":"invalid_request","message":"This connection already has a session"}
            connected
            S {"type":"session","sessionId":"3e0f6c1a-7f55-4a44-9b1c-0d9a5be0f7a1","token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","capabilities":["syncAck","echoState","gmcp","prompt","inputAck","gap","tokenRotation"]}
            D hello\r\n
            T \xff\xfd\x1f\xff\xfb\xc9
            D \xff\xfb\x1f\xff\xfd\xc9\xff\xfa\x1f\x00Z\x00\x1e\xff\xf0\xff\xfa\xc9Core.Ping\xff\xf0
            """#
        #expect(Transcript.difference(.typed, client: ClientDescription(columns: 132, rows: 43), text) == nil)
    }

    @Test func `sends the same for bytes that arrive one at a time, except for where text is split`() {
        let once = Self.joined(Transcript.replay(.typed, Self.whole))
        #expect(Self.joined(Transcript.replay(.typed, pieceBytes: 1, Self.whole)) == once)
        #expect(Self.joined(Transcript.replay(.typed, pieceBytes: 3, Self.whole)) == once)
    }

    /// The output to the client, without numbers and with adjacent data joined, and the output to the target.
    static func joined(_ transcript: String) -> [String] {
        var toClient: [String] = []
        var toTarget = ""
        for line in transcript.split(separator: "\n").map({ String($0).replacing(/"seq":\d+/, with: "") }) {
            if line.hasPrefix("D ") {
                toTarget += line.dropFirst(2)
            } else if let payload = line.wholeMatch(of: /S \{"type":"data",,"payload":"(.*)"\}/)?.1 {
                let text = String(decoding: decodedBase64(String(payload)), as: UTF8.self)
                if let last = toClient.last, last.hasPrefix("text ") {
                    toClient[toClient.count - 1] = last + text
                } else {
                    toClient.append("text " + text)
                }
            } else {
                toClient.append(line)
            }
        }
        return toClient + [toTarget]
    }
}

func decodedBase64(_ text: String) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var bits: [UInt32] = []
    for character in text where character != "=" {
        bits.append(UInt32(alphabet.firstIndex(of: character) ?? 0))
    }
    var bytes: [UInt8] = []
    for group in stride(from: 0, to: bits.count, by: 4) {
        let digits = bits[group..<min(group + 4, bits.count)]
        let value = digits.reduce(0) { $0 << 6 | $1 } << (6 * UInt32(4 - digits.count))
        let octets = [UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
        bytes += octets.prefix(digits.count - 1)
    }
    return bytes
}
