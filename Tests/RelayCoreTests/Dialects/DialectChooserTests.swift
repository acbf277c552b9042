import RelayCore
import Testing

@Suite("The choice of a dialect")
struct DialectChooserTests {
    @Test(
        arguments: [
            ("telnet.mudstandards.org", .raw), ("telnet", .raw), ("binary", .raw),
            ("terminal.mudstandards.org", .terminal),
            ("gmcp.mudstandards.org", .gmcp), ("json.mudstandards.org", .json),
        ] as [(String, DialectKind)])
    func `is immediate for a subprotocol, whatever the default is`(name: String, kind: DialectKind) {
        let chooser = DialectChooser(subprotocol: name, standard: .fixed(.typed), now: 0)
        #expect(chooser.kind == kind && chooser.deadline == nil)
        #expect(DialectKind(subprotocol: name.uppercased()) == nil)
    }

    @Test(arguments: DialectKind.allCases)
    func `is immediate for a fixed default`(kind: DialectKind) {
        #expect(DefaultDialect(rawValue: kind.rawValue) == .fixed(kind))
        #expect(DialectChooser(subprotocol: nil, standard: .fixed(kind), now: 0).kind == kind)
    }

    @Test func `accepts auto and no other word`() {
        #expect(DefaultDialect(rawValue: "auto") == .auto)
        for text in ["", "Auto", "telnet", "raw "] { #expect(DefaultDialect(rawValue: text) == nil) }
    }

    @Test(
        arguments: [
            (#"{"type":"connect","host":"h","port":1}"#, .typed), (#" {"type":7}"#, .typed),
            (#"{"connect":1,"type":null}"#, .typed),
            (#"{"type":"nonsense"}"#, .typed), (#"{"connect":1}"#, .legacy), (#"{"mud":"a","connect":true}"#, .legacy),
            (#"{"connect":"1"}"#, .legacy), (#"{"connect":{}}"#, .legacy), (#"{"connect":0.5}"#, .legacy),
            (#"{"connect":0}"#, .raw), (#"{"connect":false}"#, .raw), (#"{"connect":null}"#, .raw),
            (#"{"connect":""}"#, .raw),
            (#"{"connect":0.0}"#, .raw), ("{}", .raw), ("look\n", .raw), ("", .raw), ("\r\n", .raw), ("[1]", .raw),
            (#"{"type":"#, .raw),
            (#"{"connect":1} look"#, .raw), (#"{"Type":"connect"}"#, .raw), (#"["type"]"#, .raw),
            (#"{"type":"# + String(repeating: "[", count: 32) + String(repeating: "]", count: 32) + "}", .raw),
        ] as [(String, DialectKind)])
    func `is made by the first message otherwise`(text: String, kind: DialectKind) throws {
        for isText in [true, false] {
            var chooser = DialectChooser(subprotocol: nil, standard: .auto, now: 0)
            #expect(chooser.receive(bytes(text), isText: isText, isLast: true) == kind)
            #expect(chooser.kind == kind && chooser.deadline == nil)
            let message = chooser.takeHeldMessage()
            let held = try #require(message)
            #expect(held.bytes == Array(text.utf8) && held.isText == isText && held.isLast)
        }
    }

    @Test func `is the same for a message in pieces, cut anywhere`() {
        let text = Array(#"  {"type":"connect","host":"h","port":1}"#.utf8)
        for cut in text.indices {
            var chooser = DialectChooser(subprotocol: nil, standard: .auto, now: 0)
            #expect(chooser.receive(text[..<cut], isText: true, isLast: false) == nil)
            #expect(chooser.receive(text[cut...], isText: true, isLast: true) == .typed)
            let held = chooser.takeHeldMessage()?.bytes
            #expect(held == text)
        }
    }

    @Test func `doesn't wait for the end of a message that isn't an object`() throws {
        var chooser = DialectChooser(subprotocol: nil, standard: .auto, now: 0)
        #expect(chooser.receive(bytes("  l"), isText: true, isLast: false) == .raw)
        let message = chooser.takeHeldMessage()
        let held = try #require(message)
        #expect(held.bytes == Array("  l".utf8) && !held.isLast)
    }

    @Test func `is raw for a first message above the limit, which is forwarded`() {
        for (size, kind) in [(64, DialectKind.typed), (65, .raw)] {
            var chooser = DialectChooser(subprotocol: nil, standard: .auto, maximumMessageBytes: 64, now: 0)
            let text = #"{"type":""# + String(repeating: "x", count: size - 11) + #""}"#
            #expect(chooser.receive(bytes(text), isText: true, isLast: true) == kind)
            let held = chooser.takeHeldMessage()?.bytes
            #expect(held == Array(text.utf8))
        }
        var chooser = DialectChooser(subprotocol: nil, standard: .auto, maximumMessageBytes: 64, now: 0)
        #expect(
            chooser.receive(bytes(#"{"type":""# + String(repeating: "x", count: 55)), isText: true, isLast: false)
                == nil)
        #expect(chooser.receive(bytes("x"), isText: true, isLast: false) == .raw)
    }

    @Test func `is raw when the wait is over, and forwards the part of a message that has arrived`() throws {
        var chooser = DialectChooser(subprotocol: nil, standard: .auto, wait: 1_500, now: 1_000)
        #expect(chooser.deadline == 2_500 && chooser.kind == nil)
        #expect(chooser.receive(bytes("{\"type\":"), isText: true, isLast: false) == nil)
        #expect(chooser.tick(now: 2_499) == nil && chooser.deadline == 2_500)
        #expect(chooser.tick(now: 2_500) == .raw)
        #expect(chooser.tick(now: 9_999) == nil && chooser.deadline == nil)
        let message = chooser.takeHeldMessage()
        let held = try #require(message)
        #expect(held.bytes == Array("{\"type\":".utf8) && !held.isLast)
        // Later input belongs to a raw session.
        #expect(chooser.receive(bytes("\"connect\"}"), isText: true, isLast: true) == nil && chooser.kind == .raw)
    }

    @Test func `doesn't overflow at the end of time`() {
        #expect(DialectChooser(subprotocol: nil, standard: .auto, wait: .max, now: 1).deadline == .max)
    }
}
