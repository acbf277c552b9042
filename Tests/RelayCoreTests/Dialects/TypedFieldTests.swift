import RelayCore
import StrictJSON
import Testing

/// Every wrong field of every message, and the order in which several wrong ones are named.
@Suite("The fields of the typed protocol")
struct TypedFieldTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let message: String
        let field: String?
        let text: String
        var testDescription: String { message }

        init(_ message: String, _ field: String?, _ text: String) {
            self.message = message
            self.field = field
            self.text = text
        }
    }

    private static let port = "port must be an integer between 1 and 65535"
    private static let size = "must be an integer between 1 and 65535"

    static let cases: [Case] = [
        // All wrong at once: the first in the protocol's order is named.
        Case(
            #"{"deviceToken":"","height":0,"width":0,"port":0,"host":"","type":"connect"}"#, "host",
            "host must be a non-empty string"),
        Case(#"{"deviceToken":"","height":0,"width":0,"port":0,"host":"h","type":"connect"}"#, "port", port),
        Case(
            #"{"deviceToken":"","height":0,"width":0,"port":1,"host":"h","type":"connect"}"#, "width", "width \(size)"),
        Case(
            #"{"deviceToken":"","height":0,"width":1,"port":1,"host":"h","type":"connect"}"#, "height", "height \(size)"
        ),
        Case(
            #"{"deviceToken":"","height":1,"width":1,"port":1,"host":"h","type":"connect"}"#, "deviceToken",
            "deviceToken must be a non-empty string"),
        Case(#"{"type":"connect","target":" ","host":"","port":0}"#, "target", "target must be a non-empty string"),
        Case(#"{"type":"connect","target":7}"#, "target", "target must be a non-empty string"),
        Case(#"{"type":"connect","target":null}"#, "host", "host must be a non-empty string"),
        Case(
            #"{"lastSeq":-1,"token":"","sessionId":"","type":"resume"}"#, "sessionId",
            "sessionId must be a non-empty string"),
        Case(
            #"{"lastSeq":-1,"token":"","sessionId":"s","type":"resume"}"#, "token", "token must be a non-empty string"),
        Case(
            #"{"lastSeq":-1,"token":"t","sessionId":"s","type":"resume"}"#, "lastSeq",
            "lastSeq must be a non-negative integer"),
        Case(#"{"height":0,"width":0,"type":"naws"}"#, "width", "width \(size)"),
        Case(#"{"height":0,"width":1,"type":"naws"}"#, "height", "height \(size)"),
        Case(#"{"lastSeq":-1,"sessionId":"","type":"syncAck"}"#, "sessionId", "sessionId must be a non-empty string"),
        Case(#"{"lastSeq":-1,"sessionId":"s","type":"syncAck"}"#, "lastSeq", "lastSeq must be a non-negative integer"),

        // Each way a field can be wrong.
        Case(#"{"type":"connect","port":1}"#, "host", "host must be a non-empty string"),
        Case(#"{"type":"connect","host":null,"port":1}"#, "host", "host must be a non-empty string"),
        Case(#"{"type":"connect","host":" \t\n","port":1}"#, "host", "host must be a non-empty string"),
        Case(#"{"type":"connect","host":["h"],"port":1}"#, "host", "host must be a non-empty string"),
        Case(#"{"type":"connect","host":"h"}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":null}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":"1"}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":65536}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":-1}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":1.5}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":1e999}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":true}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":18446744073709551617}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":1,"port":0}"#, "port", port),
        Case(#"{"type":"connect","host":"h","port":1,"width":"80"}"#, "width", "width \(size)"),
        Case(
            #"{"type":"connect","host":"h","port":1,"deviceToken":7}"#, "deviceToken",
            "deviceToken must be a non-empty string"),
        Case(#"{"type":"input"}"#, "text", "text must be a string"),
        Case(#"{"type":"input","text":null}"#, "text", "text must be a string"),
        Case(#"{"type":"input","text":7}"#, "text", "text must be a string"),
        Case(#"{"type":"input","text":"","cid":0}"#, "cid", "cid must be a positive integer"),
        Case(#"{"type":"input","text":"","cid":-1}"#, "cid", "cid must be a positive integer"),
        Case(#"{"type":"input","text":"","cid":1.5}"#, "cid", "cid must be a positive integer"),
        Case(#"{"type":"input","text":"","cid":"1"}"#, "cid", "cid must be a positive integer"),
        Case(#"{"cid":0,"type":"input"}"#, "text", "text must be a string"),
        Case(#"{"type":"activityToken"}"#, "token", "token must be a non-empty string"),
        Case(#"{"type":"resume","sessionId":"s","token":"t"}"#, "lastSeq", "lastSeq must be a non-negative integer"),
        Case(
            #"{"type":"resume","sessionId":"s","token":"t","lastSeq":0.5}"#, "lastSeq",
            "lastSeq must be a non-negative integer"),
        Case(#"{"type":"gmcp"}"#, "package", "package must be a non-empty string"),
        Case(#"{"type":"gmcp","package":"a b"}"#, "package", "package must be a GMCP message name"),
        Case(
            #"{"type":"gmcp","package":"\#(String(repeating: "a", count: 129))"}"#, "package",
            "package must be a GMCP message name"),
        Case(#"{"type":"gmcp","package":"MSDP."}"#, "package", "package must be a GMCP message name"),

        // The type itself.
        Case(#"{"type":"look"}"#, "type", "Unknown message type: look"),
        Case(#"{"type":""}"#, "type", "Unknown message type: "),
        Case(#"{"type":7}"#, "type", "Unknown message type: 7"),
        Case(#"{"type":null}"#, "type", "Unknown message type: null"),
        Case(#"{"host":"h"}"#, "type", "Unknown message type: "),
        Case(#"{"type":"Connect"}"#, "type", "Unknown message type: Connect"),
        Case(
            #"{"type":"\#(String(repeating: "x", count: 33))"}"#, "type",
            "Unknown message type: \(String(repeating: "x", count: 32))"),
        Case(
            "{\"type\":\"e\(String(repeating: "\u{301}", count: 99))\"}", "type",
            "Unknown message type: e\(String(repeating: "\u{301}", count: 31))"),

        // No message at all.
        Case("{", nil, "Message is not valid JSON"),
        Case(#"{"type":"input","text":"a"} x"#, nil, "Message is not valid JSON"),
        Case(#"{"type":"input","text":"\ud800"}"#, nil, "Message is not valid JSON"),
        Case(
            #"{"type":"gmcp","package":"a","data":"# + String(repeating: "[", count: 32)
                + String(repeating: "]", count: 32) + "}", nil, "Message is nested too deeply"),
    ]

    @Test(arguments: cases)
    func `are checked in order, and the first wrong one is named`(_ wrong: Case) throws {
        let answer = try #require(Transcript.replay(.typed, "C " + wrong.message).split(separator: "\n").last)
        let object = try JSONReader.read(Array(answer.dropFirst(2).utf8)[...])
        var members = [("type", JSONValue.string("error")), ("code", .string("invalid_request"))]
        if let field = wrong.field { members.append(("field", .string(field))) }
        #expect(object == .object(.init((members + [("message", .string(wrong.text))]).map { .init($0.0, $0.1) })))
    }

    @Test(arguments: [
        (#"{"type":"connect","host":"h","port":65535,"width":1,"height":65535}"#, "dial h 65535 1x65535"),
        (#"{"type":"connect","host":" h ","port":1,"width":null,"height":null,"deviceToken":null}"#, "dial  h  1"),
        (#"{"type":"connect","host":"h","port":4000.0,"width":8e1}"#, "dial h 4000 80x0"),
        (#" {"type":"connect","connect":1,"host":"h","port":0,"port":1,"x":[{}]}"#, "dial h 1"),
        (#"{"type":"connect","target":"staging","host":7}"#, "dial route staging"),
        (#"{"type":"connect","target":"","host":7}"#, "dial standard"),
        (
            #"{"type":"resume","sessionId":"s","token":"t","lastSeq":9007199254740993}"#,
            "resume s t 9007199254740993"
        ),
        (#"{"type":"disconnect"}"#, "close 1000 client disconnected"),
    ])
    func `accept allowed values up to the limit`(message: String, outcome: String) {
        #expect(Transcript.replay(.typed, "C " + message) == "C \(message)\n\(outcome)")
    }
}
