import Telnet
import Testing

/// TTYPE, NAWS and NEW-ENVIRON: a client's description of its terminal and of itself.
@Suite struct TerminalTests {
    private func sent(_ option: Int, _ parts: any TraceBytes...) -> [UInt8] {
        trace(IAC, SB, option) + parts.flatMap(\.bytes) + trace(IAC, SE)
    }

    // MARK: TERMINAL-TYPE

    @Test func `the terminal type is the name, the terminal and then its abilities`() {
        var stage = ClientStage { $0.clientName = "Gate" }
        #expect(stage.replies(to: IAC, DO, 24) == trace(IAC, WILL, 24))
        // 1 ANSI, 2 VT100, 4 UTF-8, 8 for 256 colours, 128 PROXY, 256 TRUECOLOR, 512 MNES
        for name in ["GATE", "XTERM-256COLOR", "MTTS 911", "MTTS 911", "MTTS 911"] {
            #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, name))
        }
    }

    @Test func `the list of terminal types restarts with the option`() {
        var stage = ClientStage()
        _ = stage.replies(to: IAC, DO, 24, IAC, SB, 24, 1, IAC, SE, IAC, DONT, 24, IAC, DO, 24)
        #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, "PORTCULLIS"))
    }

    @Test func `the abilities depend on the encoding and the connection`() {
        for (encoding, isSecure, bits) in [
            (TextEncoding.latin1, false, 907), (.utf8, true, 2959), (.latin1, true, 2955),
        ] {
            var stage = ClientStage {
                $0.encoding = encoding
                $0.isSecure = isSecure
            }
            _ = stage.replies(to: IAC, DO, 24, IAC, SB, 24, 1, IAC, SE, IAC, SB, 24, 1, IAC, SE)
            #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, "MTTS \(bits)"))
        }
    }

    @Test func `only a SEND is answered`() {
        var stage = ClientStage()
        _ = stage.replies(to: IAC, DO, 24)
        #expect(stage.replies(to: subnegotiation(24), subnegotiation(24, 0, "X"), subnegotiation(24, 1, 1)) == [])
    }

    @Test func `a client's description is printable ASCII of at most 40 characters`() {
        var stage = ClientStage()
        stage.client.describe(
            clientName: "Böse\u{1B}[2J " + String(repeating: "x", count: 60), version: nil, terminalType: "\r\n")
        _ = stage.replies(to: IAC, DO, 24)
        let name = "BSE[2J-" + String(repeating: "X", count: 33)
        #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, name))
        #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, "UNKNOWN"))
    }

    @Test func `a new description applies from the next request`() {
        var stage = ClientStage()
        _ = stage.replies(to: IAC, DO, 24, IAC, SB, 24, 1, IAC, SE)
        stage.client.describe(clientName: "Later", version: nil, terminalType: "vt220")
        #expect(stage.replies(to: IAC, SB, 24, 1, IAC, SE) == sent(24, 0, "VT220"))
    }

    // MARK: NAWS

    @Test func `the window size is sent when NAWS comes into force and when it changes`() {
        var stage = ClientStage {
            $0.columns = 255
            $0.rows = 0x1FF
        }
        #expect(stage.client.takeReplies() == [])
        #expect(stage.replies(to: IAC, DO, 31) == trace(IAC, WILL, 31, IAC, SB, 31, 0, IAC, IAC, 1, IAC, IAC, IAC, SE))
        stage.client.resize(columns: 255, rows: 0x1FF)
        #expect(stage.client.takeReplies() == [])
        for columns in UInt16(1)...80 { stage.client.resize(columns: columns, rows: 24) }
        #expect(stage.client.takeReplies() == trace(IAC, SB, 31, 0, 80, 0, 24, IAC, SE))
        #expect(stage.client.takeReplies() == [])
    }

    @Test func `without NAWS the window size is kept for later`() {
        var stage = ClientStage()
        stage.client.resize(columns: 100, rows: 50)
        #expect(stage.client.takeReplies() == [])
        #expect(stage.replies(to: IAC, DO, 31) == trace(IAC, WILL, 31, IAC, SB, 31, 0, 100, 0, 50, IAC, SE))
        #expect(stage.replies(to: IAC, DONT, 31) == trace(IAC, WONT, 31))
        stage.client.resize(columns: 1, rows: 1)
        #expect(stage.client.takeReplies() == [])
    }

    // MARK: NEW-ENVIRON

    private func environment(_ change: (inout TelnetClientSettings) -> Void = { _ in }) -> ClientStage {
        var stage = ClientStage {
            $0.address = "2001:db8::7"
            change(&$0)
        }
        _ = stage.replies(to: IAC, DO, 39)
        return stage
    }

    private static let all = trace(
        0, "CHARSET", 1, "UTF-8", 0, "CLIENT_NAME", 1, "Portcullis", 0, "CLIENT_VERSION", 1, "1.0", 0, "MTTS", 1, "911",
        0, "TERMINAL_TYPE", 1, "xterm-256color", 0, "IPADDRESS", 1, "2001:db8::7")

    @Test func `a SEND without names is answered with everything`() {
        var stage = environment()
        let everything = sent(39, 0, Self.all)
        #expect(stage.replies(to: IAC, SB, 39, 1, IAC, SE) == everything)
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, IAC, SE) == everything)
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, 3, IAC, SE) == everything)
        #expect(stage.replies(to: IAC, SB, 39, 1, 3, IAC, SE) == sent(39, 0))
    }

    @Test func `named variables are answered in the requested kind`() {
        var stage = environment()
        #expect(
            stage.replies(to: IAC, SB, 39, 1, 0, "IPADDRESS", 3, "MTTS", IAC, SE)
                == sent(39, 0, 0, "IPADDRESS", 1, "2001:db8::7", 3, "MTTS", 1, "911"))
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, "USER", IAC, SE) == sent(39, 0, 0, "USER"))
    }

    @Test func `an unknown address isn't invented`() {
        var stage = environment { $0.address = nil }
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, "IPADDRESS", IAC, SE) == sent(39, 0, 0, "IPADDRESS"))
    }

    @Test func `marks in a name are escaped in both directions`() {
        var stage = environment()
        let name = trace("A", 2, 0, 2, 1, 2, 2, 2, 3, IAC, IAC)
        #expect(stage.replies(to: IAC, SB, 39, 1, 3, name, IAC, SE) == sent(39, 0, 3, name))
    }

    @Test func `an answer has at most 32 variables and no long names`() {
        var stage = environment()
        let names = [UInt8]((0..<33).flatMap { _ in trace(0, "X") })
        #expect(stage.replies(to: IAC, SB, 39, 1, names, IAC, SE) == sent(39, 0, Array(names.prefix(64))))
        let longest = String(repeating: "x", count: 64)
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, longest, IAC, SE) == sent(39, 0, 0, longest))
        #expect(stage.replies(to: IAC, SB, 39, 1, 0, longest, "x", 0, "B", IAC, SE) == sent(39, 0, 0, "B"))
    }

    @Test func `a changed description is sent once to a target that asked`() {
        var stage = environment()
        stage.client.describe(clientName: "One", version: nil, terminalType: nil)
        stage.client.describe(clientName: "Two", version: "2", terminalType: nil)
        #expect(
            stage.client.takeReplies()
                == sent(
                    39, 2, 0, "CLIENT_NAME", 1, "Two", 0, "CLIENT_VERSION", 1, "2", 0, "TERMINAL_TYPE", 1,
                    "xterm-256color"))
        stage.client.describe(clientName: "Two", version: nil, terminalType: nil)
        #expect(stage.client.takeReplies() == [])
        var other = ClientStage()
        other.client.describe(clientName: "One", version: nil, terminalType: nil)
        #expect(other.client.takeReplies() == [])
    }

    @Test func `IS and INFO from the target aren't answered`() {
        var stage = environment()
        #expect(
            stage.replies(to: subnegotiation(39, 0, 0, "A"), subnegotiation(39, 2, 0, "A"), subnegotiation(39)) == [])
    }
}
