import FoundationEssentials
import Telnet
import Testing

@testable import portcullis_sim

@Suite struct MudOptionTests {
    private func anna() -> MudStage {
        var stage = MudStage()
        stage.enter(1, as: "Anna")
        return stage
    }

    @Test func `a prompt ends with EOR if the client supports it and without a mark if it declines`() {
        var stage = anna()
        stage.type("", from: 1)
        #expect(stage.takeBytes(1) == Array("> ".utf8) + [IAC, GA])
        stage.send([IAC, DO, 3], from: 1)
        #expect(stage.takeBytes(1) == [IAC, WILL, 3])
        stage.type("", from: 1)
        #expect(stage.takeBytes(1) == Array("> ".utf8))
        stage.send([IAC, DO, 25], from: 1)
        stage.type("", from: 1)
        #expect(stage.takeBytes(1) == Array("> ".utf8) + [IAC, EOR])
    }

    @Test func `lines are wrapped at the width of the window`() {
        var stage = anna()
        stage.send([IAC, WILL, 31, IAC, SB, 31, 0, 40, 0, 24, IAC, SE], from: 1)
        stage.type("look", from: 1)
        let lines = stage.takeText(1).split(separator: "\n")
        #expect(lines.count > 5)
        #expect(lines.allSatisfy { $0.count <= 40 })
        // A window of unknown width, and one too narrow to read.
        for (columns, expected) in [(UInt8(0), MudTerminal.defaultWidth), (3, 20)] {
            stage.send([IAC, SB, 31, 0, columns, 0, 24, IAC, SE], from: 1)
            stage.type("look", from: 1)
            let longest = stage.takeText(1).split(separator: "\n").map(\.count).max() ?? 0
            #expect(longest <= expected && longest > expected - 12)
        }
    }

    @Test func `a window size may contain a doubled IAC and any other length is refused`() {
        var stage = anna()
        stage.send([IAC, SB, 31, 0, 80, 0, 24, IAC, SE], from: 1)
        stage.type("who", from: 1)
        #expect(stage.takeText(1).hasPrefix("Anna, in The Gatehouse\n"), "not negotiated yet")
        stage.send([IAC, WILL, 31, IAC, SB, 31, 0, IAC, IAC, 1, 0, IAC, SE], from: 1)
        stage.send([IAC, SB, 31, 0, 80, 0, IAC, SE, IAC, SB, 31, 0, 80, 0, 24, 0, IAC, SE], from: 1)
        stage.type("who", from: 1)
        #expect(stage.takeText(1).hasPrefix("Anna, in The Gatehouse, with 255×256\n"))
    }

    @Test func `the terminal type is requested until the client repeats itself`() {
        var stage = anna()
        let question = [IAC, SB, 24, 1, IAC, SE]
        stage.send([IAC, WILL, 24], from: 1)
        #expect(stage.takeBytes(1) == question)
        for (answer, next) in [("MUDLET", question), ("MTTS 13", question), ("MTTS 13", [])] {
            stage.send([IAC, SB, 24, 0] + Array(answer.utf8) + [IAC, SE], from: 1)
            #expect(stage.takeBytes(1) == next)
        }
        stage.type("who", from: 1)
        #expect(stage.takeText(1).contains("with MUDLET\n"))
    }

    @Test func `a client that always names another terminal is asked four times at most`() {
        var stage = anna()
        stage.send([IAC, WILL, 24], from: 1)
        var questions = 1
        _ = stage.takeBytes(1)
        for number in 0..<20 {
            stage.send([IAC, SB, 24, 0] + Array("T\(number)".utf8) + [IAC, SE], from: 1)
            questions += stage.takeBytes(1).isEmpty ? 0 : 1
        }
        #expect(questions == 4)
    }

    @Test func `GMCP reports the server, the room and the vitals`() throws {
        var stage = MudStage()
        stage.connect(1)
        stage.send([IAC, DO, 201], from: 1)
        stage.type("Anna", from: 1)
        stage.type("secret", from: 1)
        stage.type("north", from: 1)
        let messages = stage.takeEvents(1).compactMap { event -> String? in
            if case .subnegotiation(.gmcp, let bytes) = event { String(decoding: bytes, as: UTF8.self) } else { nil }
        }
        #expect(
            messages == [
                #"Core.Hello {"server":"Portcullis demo MUD","version":"1"}"#,
                #"Room.Info {"area":"Castle","exits":{"n":2},"name":"The Gatehouse","num":1}"#,
                #"Char.Vitals {"hp":100,"maxhp":100,"maxmv":20,"mv":20}"#,
                #"Room.Info {"area":"Castle","exits":{"e":5,"n":4,"s":1,"w":3},"name":"The Courtyard","num":2}"#,
                #"Char.Vitals {"hp":100,"maxhp":100,"maxmv":20,"mv":19}"#,
            ])
        for _ in 0..<30 { stage.type("s", from: 1); stage.type("n", from: 1) }
        #expect(String(decoding: stage.takeBytes(1), as: UTF8.self).contains(#""mv":0}"#))
        stage.type("e", from: 1)
        stage.type("drink", from: 1)
        #expect(String(decoding: stage.takeBytes(1), as: UTF8.self).contains(#""mv":20}"#))
    }

    @Test func `GMCP that starts during play sends what was missed`() {
        var stage = anna()
        stage.send([IAC, DO, 201], from: 1)
        let packages = stage.takeEvents(1).compactMap { event -> Substring? in
            guard case .subnegotiation(.gmcp, let bytes) = event else { return nil }
            return String(decoding: bytes, as: UTF8.self).prefix { $0 != " " }
        }
        #expect(packages == ["Core.Hello", "Room.Info", "Char.Vitals"])
    }

    @Test func `without GMCP no message is sent or read`() {
        var stage = anna()
        stage.send(gmcp("Core.Ping"), from: 1)
        stage.type("north", from: 1)
        #expect(stage.takeEvents(1).allSatisfy { if case .subnegotiation = $0 { false } else { true } })
    }

    @Test func `the client's own GMCP is read`() {
        var stage = anna()
        stage.send([IAC, DO, 201], from: 1)
        _ = stage.takeBytes(1)
        stage.send(gmcp("Core.Ping 120"), from: 1)
        #expect(stage.takeBytes(1) == gmcp("Core.Ping"))
        stage.send(gmcp(#"Core.Hello {"client":"Lantern\u001b[2J","version":"2.1"}"#), from: 1)
        stage.send(gmcp(#"Core.Hello {"client":"#), from: 1)
        stage.send(gmcp(#"Core.Hello ["#) + gmcp("") + gmcp(" ") + gmcp("Unknown.Package {}"), from: 1)
        #expect(stage.takeBytes(1) == [])
        stage.type("who", from: 1)
        #expect(stage.takeText(1).hasPrefix("Anna, in The Gatehouse, with Lantern[2J 2.1\n"))
    }
}
