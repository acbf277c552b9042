import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

@Suite("A session's core")
struct SessionCoreTests {
    private func core(_ dialect: SessionDialect, _ admission: Admission = .accessToken) -> SessionCore {
        SessionCore(ConnectionOptions(admission, dialect: dialect), ClientLimits())
    }

    /// The text messages that are to be sent.
    private func sent(_ orders: [SessionCore.Order]) -> [String] {
        orders.compactMap {
            switch $0 {
            case .send(.text(let bytes)), .send(.binary(let bytes)), .acknowledge(.text(let bytes)):
                String(decoding: bytes, as: UTF8.self)
            default: nil
            }
        }
    }

    private func events(_ orders: [SessionCore.Order]) -> [String] {
        orders.compactMap {
            guard case .event(let event) = $0 else { return nil }
            return switch event {
            case .output(let output): "output \(output.text)\(output.isReplayed ? " again" : "")"
            case .prompt: "prompt"
            case .gmcp(let message):
                "gmcp \(message.name) \(message.json.map { String(decoding: $0, as: UTF8.self) } ?? "-")\(message.isReplayed ? " again" : "")"
            case .echo(let isSuppressed): "echo \(isSuppressed)"
            case .gap(let gap): "gap \(gap.bytes.map(String.init) ?? "?")"
            case .input(let outcome): "\(outcome)"
            case .notice(let notice): "notice \(notice.code)"
            case .state(let state): "\(state)"
            }
        }
    }

    private func text(_ core: inout SessionCore, _ text: String) -> [SessionCore.Order] {
        core.receive(Array(text.utf8), isText: true)
    }

    private static func session(_ type: String = "session", token: String = "t1", id: String = "s-1") -> String {
        #"{"type":"\#(type)","sessionId":"\#(id)","token":"\#(token)","capabilities":["syncAck","gap","tokenRotation"]}"#
    }

    private func liveTyped() -> SessionCore {
        var core = core(.typed)
        _ = core.opened()
        _ = text(&core, Self.session())
        return core
    }

    // MARK: typed

    @Test func `typed begins with connect, and tells output, prompt, GMCP and echo`() {
        var core = core(.typed)
        #expect(sent(core.opened()) == [#"{"type":"connect","target":""}"#])
        #expect(events(text(&core, Self.session())) == ["connected(isResumed: false)"])
        #expect(core.canResume && core.isLive)
        #expect(events(text(&core, #"{"type":"data","seq":1,"payload":"aGk="}"#)) == ["output hi"])
        #expect(events(text(&core, #"{"type":"prompt","seq":2}"#)) == ["prompt"])
        #expect(
            events(text(&core, #"{"type":"gmcp","seq":3,"package":"A.B","data":{"x":[1]}}"#)) == [
                #"gmcp A.B {"x":[1]}"#
            ])
        #expect(events(text(&core, #"{"type":"gmcp","seq":4,"package":"A"}"#)) == ["gmcp A -"])
        #expect(events(text(&core, #"{"type":"echo","seq":5,"suppressed":true}"#)) == ["echo true"])
        #expect(events(text(&core, #"{"type":"ticket","ticket":"x"}"#)) == [])
        #expect(events(text(&core, #"{"type":"something new"}"#)) == [])
    }

    @Test func `an input is numbered, confirmed, and sent again with its number after a resume`() {
        var core = liveTyped()
        let (first, orders) = core.input(Array("look\n".utf8))
        #expect(first == 1 && sent(orders) == [#"{"type":"input","text":"look\u000a","cid":1}"#])
        #expect(sent(core.input(Array("n\n".utf8)).1) == [#"{"type":"input","text":"n\u000a","cid":2}"#])
        #expect(events(text(&core, #"{"type":"inputAck","cid":1}"#)) == ["delivered(1)"])
        #expect(events(text(&core, #"{"type":"inputAck","cid":1}"#)) == [])
        _ = text(&core, #"{"type":"data","seq":9,"payload":"aGk="}"#)
        #expect(events(core.detached()) == [])
        // Written meanwhile.
        #expect(sent(core.input(Array("s\n".utf8)).1) == [])
        #expect(sent(core.opened()) == [#"{"type":"resume","sessionId":"s-1","token":"t1","lastSeq":9}"#])
        let resumed = text(&core, Self.session("resumed", token: "t2"))
        #expect(events(resumed) == ["connected(isResumed: true)"])
        #expect(
            sent(resumed).map { $0.contains(#""cid":2"#) } == [true, false] && sent(resumed)[1].contains(#""cid":3"#))
        #expect(events(text(&core, #"{"type":"inputAck","cid":2}"#)) == ["delivered(2)"])
        #expect(
            events(text(&core, #"{"type":"error","code":"invalid_request","message":"m","cid":3}"#)) == [
                #"refused(3, code: "invalid_request")"#
            ])
        #expect(!core.awaitsConfirmation)
        // The new token counts from now on.
        _ = core.detached()
        #expect(sent(core.opened())[0].contains(#""token":"t2""#))
    }

    @Test func `replayed output is told as such, old state too, and nothing twice`() {
        var core = liveTyped()
        _ = text(&core, #"{"type":"data","seq":5,"payload":"aGk="}"#)
        _ = core.detached()
        _ = core.opened()
        _ = text(&core, Self.session("resumed"))
        #expect(events(text(&core, #"{"type":"gap","fromSeq":6,"toSeq":8,"bytes":812}"#)) == ["gap 812"])
        #expect(
            events(text(&core, #"{"type":"gmcp","seq":2,"package":"A","data":1,"replayed":true}"#)) == [
                "gmcp A 1 again"
            ])
        #expect(events(text(&core, #"{"type":"data","seq":4,"payload":"aGk=","replayed":true}"#)) == [])
        #expect(
            events(text(&core, #"{"type":"data","seq":9,"payload":"aGk=","replayed":true}"#)) == ["output hi again"])
        #expect(events(text(&core, #"{"type":"data","seq":9,"payload":"aGk="}"#)) == [])
        #expect(events(text(&core, #"{"type":"data","seq":12,"payload":"aGk="}"#)) == ["gap ?", "output hi"])
    }

    @Test func `received messages are acknowledged now and then`() {
        var core = liveTyped()
        var acknowledgements: [String] = []
        for seq in 1...200 { acknowledgements += sent(text(&core, #"{"type":"prompt","seq":\#(seq)}"#)) }
        #expect(acknowledgements == [64, 128, 192].map { #"{"type":"syncAck","sessionId":"s-1","lastSeq":\#($0)}"# })
    }

    // MARK: gmcp and json

    @Test func `gmcp counts bytes from the session on, and resumes by the query`() {
        var core = core(.gmcp)
        #expect(core.opened().isEmpty && core.query.isEmpty)
        #expect(
            events(text(&core, #"Portcullis.Session {"id":"s","token":"t","seq":10,"resumed":false}"#)) == [
                "connected(isResumed: false)"
            ])
        #expect(events(core.receive(Array("hello".utf8), isText: false)) == ["output hello"])
        #expect(events(text(&core, "Char.Vitals {\"hp\":1}")) == [#"gmcp Char.Vitals {"hp":1}"#])
        #expect(events(text(&core, "Core.Ping")) == ["gmcp Core.Ping -"])
        #expect(events(text(&core, "Portcullis.Prompt")) == ["prompt"])
        #expect(events(text(&core, #"Portcullis.Echo {"suppressed":true}"#)) == ["echo true"])
        let counted = 10 + 5 + "Char.Vitals {\"hp\":1}".utf8.count + "Core.Ping".utf8.count
        #expect(core.query.map { "\($0.name)=\($0.value)" } == ["session=s", "token=t", "lastSeq=\(counted)"])
        _ = core.detached()
        #expect(core.opened().isEmpty)
        #expect(events(text(&core, "Char.Vitals {\"hp\":2}")) == [#"gmcp Char.Vitals {"hp":2} again"#])
        _ = text(&core, #"Portcullis.Session {"id":"s","token":"t2","seq":99,"resumed":true}"#)
        #expect(events(text(&core, #"Portcullis.Gap {"fromSeq":1,"toSeq":9,"bytes":55}"#)) == ["gap 55"])
        #expect(core.query.map(\.value) == ["s", "t2", "99"])
    }

    @Test func `json has the same in its own form`() {
        var core = core(.json)
        _ = core.opened()
        _ = text(
            &core, #"{"proto":"session","id":"","data":"{\"id\":\"s\",\"token\":\"t\",\"seq\":0,\"resumed\":false}"}"#)
        #expect(events(text(&core, #"{"proto":"gmcp","id":"A.B","data":"{\"x\":1}"}"#)) == [#"gmcp A.B {"x":1}"#])
        #expect(events(text(&core, #"{"proto":"msdp","id":"HEALTH","data":"5"}"#)) == ["gmcp MSDP.HEALTH 5"])
        #expect(events(text(&core, #"{"proto":"mssp","id":"","data":"{}"}"#)) == ["gmcp MSSP {}"])
        #expect(
            events(text(&core, #"{"proto":"atcp","id":"Room.Brief","data":"a \"b\""}"#)) == [
                #"gmcp ATCP.Room.Brief "a \"b\"""#
            ])
        #expect(events(text(&core, #"{"proto":"prompt","id":"","data":""}"#)) == ["prompt"])
        #expect(
            events(text(&core, #"{"proto":"error","id":"invalid_request","data":"no"}"#)) == ["notice invalid_request"])
        let size = TerminalSize(columns: 80, rows: 24)
        #expect(size.map { sent(core.resize($0)) } == [#"{"proto":"naws","id":"","data":{"cols":80,"rows":24}}"#])
        #expect(
            (try? core.gmcp("A", Array("[1]".utf8))).map { sent($0.1) } == [#"{"proto":"gmcp","id":"A","data":[1]}"#])
    }

    @Test(arguments: [SessionDialect.gmcp, .json, .raw])
    func `without numbers a pong confirms an input, and a lost connection leaves it uncertain`(dialect: SessionDialect)
    {
        var core = core(dialect)
        _ = core.opened()
        if dialect == .gmcp { _ = text(&core, #"Portcullis.Session {"id":"s","token":"t","seq":0}"#) }
        if dialect == .json {
            _ = text(&core, #"{"proto":"session","data":"{\"id\":\"s\",\"token\":\"t\",\"seq\":0}"}"#)
        }
        func pings(_ orders: [SessionCore.Order]) -> [InputNumber] {
            orders.compactMap { if case .ping(let number) = $0 { number } else { nil } }
        }
        #expect(pings(core.input([1]).1) == [1])
        #expect(pings(core.input([2]).1) == [] && pings(core.input([3]).1) == [])
        let orders = core.pong(upTo: 1)
        #expect(events(orders) == ["delivered(1)"] && pings(orders) == [3])
        #expect(events(core.detached()) == ["uncertain([2, 3])"])
        #expect(!core.awaitsConfirmation)
    }

    // MARK: Ends

    @Test func `what is left at the end is told`() {
        var core = liveTyped()
        _ = core.input([1])
        _ = core.detached()
        _ = core.input([2])
        // The first was sent before the connection was lost.
        #expect(events(core.ended()) == ["uncertain([1])", "undelivered([2])"])
        var resumed = liveTyped()
        _ = resumed.input([1])
        _ = resumed.detached()
        _ = resumed.opened()
        #expect(events(resumed.ended()) == ["uncertain([1])"])
        var live = liveTyped()
        _ = live.input([1])
        #expect(events(live.ended()) == ["uncertain([1])"])
    }

    @Test func `the ledger is bounded by number and by bytes`() {
        var limits = ClientLimits()
        (limits.unconfirmedInputs, limits.unconfirmedInputBytes) = (3, 300)
        var core = SessionCore(ConnectionOptions(dialect: .raw), limits)
        for _ in 0..<3 {
            #expect(core.hasRoom(for: 1))
            _ = core.input([1])
        }
        #expect(!core.hasRoom(for: 1))
        var other = SessionCore(ConnectionOptions(dialect: .raw), limits)
        // One is accepted whatever its size is.
        #expect(other.hasRoom(for: 1_000))
        _ = other.input([UInt8](repeating: 0, count: 299))
        #expect(other.hasRoom(for: 1) && !other.hasRoom(for: 2))
    }

    @Test func `a session without the capabilities can't be resumed`() {
        var core = core(.typed)
        _ = core.opened()
        _ = text(&core, #"{"type":"session","sessionId":"s","token":"t","capabilities":["gap"]}"#)
        #expect(!core.canResume)
        #expect(
            ConnectionVerdict.of(.lost(.connectionLost), core) == .end(ConnectionEnd(.connectionLost, .connectAgain)))
    }

    @Test(arguments: [
        ("session_expired", ConnectionEnd.Cause.sessionExpired), ("invalid_resume", .sessionExpired),
    ])
    func `a refused resume ends the session`(code: String, cause: ConnectionEnd.Cause) {
        var core = liveTyped()
        _ = core.detached()
        _ = core.opened()
        _ = text(&core, #"{"type":"error","code":"\#(code)","message":"m"}"#)
        #expect(core.isOver && core.toldEnd?.cause == cause && core.toldEnd?.action == .connectAgain)
    }

    @Test func `a postponed resume comes back, and a service that is away doesn't`() {
        var core = liveTyped()
        _ = core.detached()
        _ = core.opened()
        _ = text(&core, #"{"type":"error","code":"rate_limited","message":"later"}"#)
        #expect(core.isOver && ConnectionVerdict.of(.closed(code: 1000, reason: ""), core) == .comeBack(after: 1))
        var new = self.core(.typed)
        _ = new.opened()
        _ = text(&new, #"{"type":"error","code":"connection_failed","message":"down"}"#)
        #expect(new.toldEnd?.cause == .serviceUnreachable && new.toldEnd?.action == .connectLater(seconds: 30))
    }

    @Test func `a hint says when to come back, within a minute`() {
        var core = liveTyped()
        _ = text(&core, #"{"type":"draining","reconnectAfterMs":250}"#)
        #expect(
            ConnectionVerdict.of(.closed(code: 1012, reason: "gateway is being upgraded"), core)
                == .comeBack(after: 0.25))
        _ = text(&core, #"{"type":"draining","reconnectAfterMs":9000000000000000000}"#)
        #expect(core.hint == 60)
        _ = text(&core, #"{"type":"draining","reconnectAfterMs":-5}"#)
        #expect(core.hint == 0)
    }

    /// Each row of docs/PROTOCOL.md's table of close codes.
    @Test func `every close code of the gateway has its meaning`() throws {
        let rows = try RepositoryText.rows("docs/PROTOCOL.md", section: "### Close codes")
        let comesBack: Set = ["1001", "1011", "1012", "1013"]
        var codes: Set<String> = []
        for row in rows where UInt16(row[0]) != nil {
            let code = try #require(UInt16(row[0]))
            codes.insert(row[0])
            switch ConnectionVerdict.of(.closed(code: code, reason: row[1]), liveTyped()) {
            case .comeBack: #expect(comesBack.contains(row[0]), "\(row)")
            case .end(let end):
                #expect(!comesBack.contains(row[0]), "\(row)")
                // Only reasons that this library never causes have no row of their own.
                let isKnown =
                    end.cause != .failed
                    || [
                        "no target was named in time", "too many connects", "connection already has a session",
                        "malformed connect",
                    ].contains(row[1])
                #expect(isKnown, "\(row)")
            }
        }
        #expect(codes.count >= 10)
    }

    // MARK: Hostile gateways

    @Test(arguments: [
        "", "x", "[]", "{}", #"{"type":1}"#, #"{"type":"data","seq":1}"#, #"{"type":"data","seq":1,"payload":"***"}"#,
        #"{"type":"gmcp","seq":1,"package":"a b"}"#, #"{"type":"inputAck"}"#, #"{"type":"inputAck","cid":-1}"#,
        #"{"type":"inputAck","cid":1e3}"#, #"{"type":"session"}"#,
    ])
    func `a message that can't be read is told, and a connection of them is given up`(message: String) {
        var core = liveTyped()
        for _ in 0..<SessionCore.maximumFaults {
            #expect(events(text(&core, message)) == ["notice malformed", "gap ?"])
        }
        guard case .abandon(let end)? = text(&core, message).first else {
            Issue.record("not abandoned")
            return
        }
        #expect(end.cause == .protocolViolation && end.action == .giveUp)
    }

    @Test func `GMCP nested 10,000 deep is told as malformed, and the next message as behind a gap`() {
        let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        var core = liveTyped()
        #expect(
            events(text(&core, #"{"type":"gmcp","seq":1,"package":"A","data":\#(deep)}"#)) == [
                "notice malformed", "gap ?",
            ])
        #expect(events(text(&core, #"{"type":"prompt","seq":2}"#)) == ["gap ?", "prompt"])
        var gmcp = self.core(.gmcp)
        _ = gmcp.opened()
        _ = text(&gmcp, #"Portcullis.Session {"id":"s","token":"t","seq":0}"#)
        #expect(events(text(&gmcp, "A " + deep)) == ["notice malformed", "gap ?"])
        #expect(gmcp.query.last?.value == "\(20_002)")
    }

    @Test(arguments: [
        session("resumed"), session(id: "a b"), session(id: ""), session(token: "a&b"),
        session(token: String(repeating: "t", count: 257)),
        #"{"type":"session","sessionId":"s","token":7}"#,
    ])
    func `a session that isn't the right one is refused`(message: String) {
        var core = core(.typed)
        _ = core.opened()
        let orders = text(&core, message)
        #expect(!core.isLive)
        #expect(orders.contains { if case .abandon = $0 { true } else { events([$0]) == ["notice malformed"] } })
    }

    @Test func `a resume can't change the session, and a live one can't begin again`() {
        var core = liveTyped()
        guard case .abandon? = text(&core, Self.session()).first else {
            Issue.record("began twice")
            return
        }
        _ = core.detached()
        _ = core.opened()
        guard case .abandon? = text(&core, Self.session("resumed", id: "s-2")).first else {
            Issue.record("resumed another session")
            return
        }
        guard case .abandon? = text(&core, Self.session()).first else {
            Issue.record("a new session instead of a resumed one")
            return
        }
    }

    @Test func `every message cut at every byte, and with any byte changed, leaves a session that works`() {
        let messages = [
            Self.session(), #"{"type":"data","seq":1,"payload":"aGVsbG8=","replayed":true}"#,
            #"{"type":"gmcp","seq":2,"package":"Char.Vitals","data":{"hp":[1,2,{"a":"\u00e9"}]}}"#,
            #"{"type":"gap","fromSeq":1,"toSeq":18446744073709551615,"bytes":9}"#, #"{"type":"inputAck","cid":1}"#,
            #"Portcullis.Session {"id":"s","token":"t","seq":5}"#, #"{"proto":"gmcp","id":"A","data":"{\"x\":1}"}"#,
        ]
        var random = SeededGenerator(seed: 7)
        for dialect in SessionDialect.allCases {
            for message in messages {
                let bytes = Array(message.utf8)
                for index in bytes.indices {
                    var core = core(dialect)
                    _ = core.opened()
                    _ = core.receive(Array(bytes[..<index]), isText: true)
                    var changed = bytes
                    changed[index] = UInt8.random(in: 0...255, using: &random)
                    _ = core.receive(changed, isText: Bool.random(using: &random))
                    _ = core.input([0x0A])
                    _ = core.detached()
                    _ = core.opened()
                    _ = core.ended()
                }
            }
        }
    }
}
