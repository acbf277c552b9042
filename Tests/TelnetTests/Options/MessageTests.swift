import Testing

@testable import Telnet

/// GMCP, ATCP and MSSP.
@Suite struct MessageTests {
    private func stage(_ option: Int, greets: Bool = false) -> ClientStage {
        var stage = ClientStage { $0.greetsGMCP = greets }
        _ = stage.replies(to: IAC, WILL, option)
        return stage
    }

    // MARK: GMCP

    @Test func `a target with GMCP is greeted`() {
        for verb in [WILL, DO] {
            var stage = ClientStage {
                $0.clientName = #"A"\"#
                $0.gmcpPackages = ["Core 1", "Room 1"]
            }
            #expect(
                stage.replies(to: IAC, verb, 201) == trace(IAC, verb == WILL ? DO : WILL, 201)
                    + subnegotiation(201, #"Core.Hello {"client":"A\"\\","version":"1.0"}"#)
                    + subnegotiation(201, #"Core.Supports.Set ["Core 1","Room 1"]"#))
            // The other side of the same option causes no second greeting.
            let other = verb == WILL ? DO : WILL
            #expect(stage.replies(to: IAC, other, 201) == trace(IAC, other == WILL ? DO : WILL, 201))
        }
    }

    @Test func `a client that sends its own greeting isn't greeted for`() {
        var stage = ClientStage { $0.greetsGMCP = false }
        #expect(stage.replies(to: IAC, WILL, 201) == trace(IAC, DO, 201))
    }

    @Test func `the name ends at the first space and the data is kept`() {
        var stage = stage(201)
        for (payload, name, data) in [
            ("Room.Info {\"a\": 1}", "Room.Info", "{\"a\": 1}"), ("Core.Ping", "Core.Ping", ""), ("A ", "A", ""),
            ("A\n[1]", "A", "[1]"), ("A  1 ", "A", " 1 "), ("A é\"", "A", "é\""), ("A not json", "A", "not json"),
        ] {
            #expect(stage.receive(subnegotiation(201, payload)) == [.gmcp(name: name, data: Array(data.utf8))])
        }
        #expect(stage.receive(subnegotiation(201, "A ", 0xE9)) == [.gmcp(name: "A", data: Array("é".utf8))])
    }

    @Test func `a message without a valid name is dropped`() {
        var stage = stage(201)
        for payload in ["", " {}", "é {}", "A\u{1}B {}", "A\u{1B}[2J"] {
            #expect(stage.receive(subnegotiation(201, payload)) == [], "\(payload)")
        }
        let longest = String(repeating: "n", count: GMCP.maximumNameBytes)
        #expect(stage.receive(subnegotiation(201, longest)) == [.gmcp(name: longest, data: [])])
        #expect(stage.receive(subnegotiation(201, longest, "n")) == [])
    }

    @Test func `a client's messages are written while GMCP is in force`() {
        var output: [UInt8] = []
        var silent = ClientStage()
        #expect(!silent.client.appendGMCP(name: "A", data: [], to: &output))
        var stage = stage(201)
        for name in ["", "A B", "é", "A\n"] {
            #expect(!stage.client.appendGMCP(name: name, data: [0x31], to: &output), "\(name)")
        }
        #expect(output.isEmpty)
        #expect(stage.client.appendGMCP(name: "Core.Ping", data: [], to: &output))
        #expect(stage.client.appendGMCP(name: "A.B", data: [0x22, 255, 0x22], to: &output))
        #expect(output == subnegotiation(201, "Core.Ping") + subnegotiation(201, "A.B \"", IAC, IAC, "\""))
        _ = stage.receive(IAC, WONT, 201)
        #expect(!stage.client.appendGMCP(name: "A", data: [], to: &output))
    }

    // MARK: ATCP

    @Test func `ATCP is greeted and read`() {
        var stage = ClientStage()
        let replies = stage.replies(to: IAC, WILL, 200)
        #expect(replies.starts(with: trace(IAC, DO, 200, IAC, SB, 200, "hello Portcullis 1.0\n")))
        #expect(
            stage.receive(subnegotiation(200, "Room.Brief A é place")) == [.atcp(name: "Room.Brief", text: "A é place")]
        )
        #expect(stage.receive(subnegotiation(200, "Room.Exits\nn,s")) == [.atcp(name: "Room.Exits", text: "n,s")])
        #expect(stage.receive(subnegotiation(200, "Ping"), subnegotiation(200)) == [.atcp(name: "Ping", text: "")])
    }

    // MARK: MSSP

    @Test func `MSSP variables may have several values`() {
        var stage = stage(70)
        #expect(
            stage.receive(subnegotiation(70, 1, "PORT", 2, "23", 2, "4000", 1, "NAME", 2, "é", 1, "EMPTY", 1, 2, "x"))
                == [
                    .mssp([
                        MSSPVariable(name: "PORT", values: ["23", "4000"]), MSSPVariable(name: "NAME", values: ["é"]),
                        MSSPVariable(name: "EMPTY", values: []),
                    ])
                ])
        #expect(stage.receive(subnegotiation(70), subnegotiation(70, 2, "x"), subnegotiation(70, "xyz")) == [])
    }

    @Test func `MSSP has at most 1024 names and values`() {
        func values(_ count: Int) -> Int? {
            MSSP.variables(in: trace(1, "A") + (0..<count).flatMap { _ in trace(2, "x") }).first?.values.count
        }
        #expect(values(1023) == 1023)
        #expect(values(1024) == 1023)
    }
}
