import EdgeTestKit
import Testing

extension EdgeTests {
    /// A client that sends too much is slowed down. Nothing that it sends is lost, and other clients aren't affected.
    @Suite struct PaceTests {
        /// A form of input lines, and the bytes that the target receives.
        enum Dialect: String, CaseIterable, Sendable {
            case raw = "telnet"
            case terminal = "terminal.mudstandards.org"
            case gmcp = "gmcp.mudstandards.org"
            case json = "json.mudstandards.org"
            case jsonText = "json.mudstandards.org, as text"
            case typed, legacy

            var handshake: Handshake {
                switch self {
                case .typed: Handshake().path("/?dialect=typed")
                case .legacy: Handshake().path("/?dialect=legacy")
                case .jsonText: Handshake().offering("json.mudstandards.org")
                default: Handshake().offering(rawValue)
                }
            }

            /// What the client must send first.
            var greeting: WebSocketFrame? {
                switch self {
                case .typed: .text(#"{"type":"connect","target":""}"#)
                case .legacy: .text(#"{"connect":1}"#)
                default: nil
                }
            }

            func frame(_ number: Int) -> WebSocketFrame {
                switch self {
                case .raw, .terminal, .gmcp, .json: .binary(Array(line(number).utf8))
                case .jsonText: .text(#"{"proto":"text","id":"","data":"\#(number)."}"#)
                case .typed: .text(#"{"type":"input","text":"\#(number).\r\n","cid":\#(number + 1)}"#)
                case .legacy: .text(line(number))
                }
            }

            func line(_ number: Int) -> String { "\(number).\r\n" }

            func frames(_ numbers: Range<Int>) -> [UInt8] { numbers.flatMap { frame($0).encoded() } }
            func lines(_ numbers: Range<Int>) -> String { numbers.map(line).joined() }
        }

        /// All in one piece and immediately, while the target is still being dialled.
        @Test(arguments: Dialect.allCases)
        func `a burst arrives whole and in order`(dialect: Dialect) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MESSAGES_PER_SECOND", 60) }
            let socket = try await edge.gateway.open(dialect.handshake)
            socket.connection.post((dialect.greeting?.encoded() ?? []) + dialect.frames(0..<150))
            let target = try await edge.target.connection()
            let expected = dialect.lines(0..<150)
            #expect(try await target.receiveText(expected.utf8.count) == expected)
            // Reading resumes when the budget has recovered from the burst.
            socket.connection.post(dialect.frames(150..<151))
            #expect(try await target.receiveText(6) == "150.\r\n")
            guard dialect == .typed else { return }
            var acknowledged: [Int] = []
            while acknowledged.count < 151 {
                let answer = try await socket.nextMessage()
                #expect(["session", "inputAck"].contains(answer["type"]), "\(answer.text)")
                if let cid = answer.fields["cid"] as? Int { acknowledged.append(cid) }
            }
            #expect(acknowledged == Array(1...151))
        }

        /// More than one read returns: the rest waits on the client's side.
        @Test(arguments: Dialect.allCases)
        func `a flood is read no faster than its rate limit`(dialect: Dialect) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MESSAGES_PER_SECOND", 1) }
            let socket = try await edge.gateway.open(dialect.handshake)
            socket.connection.post(dialect.greeting?.encoded() ?? [])
            let target = try await edge.target.connection()
            // Each frame has at least 10 bytes, so one read returns fewer than 1,700 frames. The next one would be due
            // in many minutes.
            socket.connection.post(dialect.frames(0..<20_000))
            let first = dialect.lines(0..<10)
            #expect(try await target.receiveText(first.utf8.count) == first)
            for _ in 0..<20 { try await edge.expectHealthy() }
            #expect(target.stream.current.totalReceived < 2 * 1_700 * 8)
        }

        @Test func `a player isn't slowed by a flood from the same address`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MESSAGES_PER_SECOND_PER_IP", 50) }
            let flood = try await edge.gateway.open(Handshake().offering("telnet"))
            let flooded = try await edge.target.connection(0)
            flood.connection.post(Dialect.raw.frames(0..<20_000))
            _ = try await flooded.receive(1_000)
            for dialect in [Dialect.typed, .terminal, .gmcp] {
                let count = edge.target.connectionCount
                let player = try await edge.gateway.open(dialect.handshake)
                if let greeting = dialect.greeting { try await player.send(greeting) }
                let target = try await edge.target.connection(count)
                for number in 0..<20 {
                    try await player.send(dialect.frame(number))
                    let line = dialect.line(number)
                    #expect(try await target.receiveText(line.utf8.count) == line)
                }
            }
            // It floods during all of this.
            #expect(flooded.stream.current.totalReceived < Dialect.raw.lines(0..<20_000).utf8.count)
        }

        /// The flood is slowed down, and arrives completely.
        @Test func `two clients that share an address both make progress`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MESSAGES_PER_SECOND_PER_IP", 1_000) }
            var plays: [(TestWebSocket, TargetConnection)] = []
            for number in 0..<2 {
                let socket = try await edge.gateway.open(Dialect.raw.handshake)
                plays.append((socket, try await edge.target.connection(number)))
            }
            for (socket, _) in plays { socket.connection.post(Dialect.raw.frames(0..<2_000)) }
            let expected = Dialect.raw.lines(0..<2_000)
            for (_, target) in plays { #expect(try await target.receiveText(expected.utf8.count) == expected) }
        }

        /// A request after a burst is performed after the burst.
        @Test func `a disconnect waits for its turn`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MESSAGES_PER_SECOND", 600) }
            let socket = try await edge.gateway.open(Dialect.typed.handshake)
            try await socket.connectTyped()
            let target = try await edge.target.connection()
            let bye = WebSocketFrame.text(#"{"type":"disconnect"}"#).encoded()
            socket.connection.post(Dialect.typed.frames(0..<1_200) + bye)
            let heard = try await target.receiveToEnd()
            #expect(String(decoding: heard, as: UTF8.self) == Dialect.typed.lines(0..<1_200))
            #expect(try await socket.closedByServer().reason == "client disconnected")
        }

        /// Longer than the silence limit: the gateway doesn't read it meanwhile, so the silence isn't counted.
        @Test func `a client that is slowed down isn't treated as silent`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("CLIENT_BYTES_PER_SECOND", 1_000).setting("PING_INTERVAL_SECONDS", 1)
            }
            let socket = try await edge.gateway.open(Dialect.raw.handshake)
            let target = try await edge.target.connection()
            try await socket.send(binary: [UInt8](repeating: 0x61, count: 6_000))
            _ = try await target.receive(6_000)
            try await socket.send(text: "b")
            #expect(try await target.receiveText(1) == "b")
        }

        /// It isn't read, so only pings detect the loss.
        @Test func `the loss of a client that is slowed down is noticed`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("MESSAGES_PER_SECOND", 1).setting("PING_INTERVAL_SECONDS", 1)
            }
            let socket = try await edge.gateway.open(Dialect.raw.handshake)
            let target = try await edge.target.connection()
            socket.connection.post(Dialect.raw.frames(0..<100))
            let expected = Dialect.raw.lines(0..<100)
            #expect(try await target.receiveText(expected.utf8.count) == expected)
            await socket.connection.reset()
            #expect(try await target.receiveToEnd() == [])
        }

        /// Raw isn't filtered: the client itself is the telnet peer of the target. See docs/DIALECTS.md.
        @Test func `telnet of a raw client isn't attributed to the gateway`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(Dialect.raw.handshake)
            let message = TelnetBytes.gmcp(#"Portcullis.Session {"state":"detached"}"#)
            try await socket.send(binary: message)
            #expect(try await edge.target.connection().receive(message.count) == message)
        }

        /// In every other dialect the gateway speaks telnet.
        @Test(arguments: [
            (Dialect.gmcp, #"Portcullis.Session {"state":"detached"}"#),
            (.json, #"{"proto":"gmcp","id":"portcullis.session","data":{"state":"detached"}}"#),
            (.typed, #"{"type":"gmcp","package":"Portcullis.Session","data":{"state":"detached"}}"#),
            (.legacy, #"{"gmcp":"PORTCULLIS.Session {\"state\":\"detached\"}"}"#),
        ])
        func `a client can't send telnet in the gateway's name`(dialect: Dialect, forged: String) async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(dialect.handshake)
            if let greeting = dialect.greeting { try await socket.send(greeting) }
            let target = try await edge.target.connection()
            try await target.send([TelnetBytes.iac, TelnetBytes.will, TelnetBytes.gmcp])
            _ = try await target.receive(upTo: [TelnetBytes.iac, TelnetBytes.do, TelnetBytes.gmcp])
            try await socket.send(text: forged)
            try await socket.send(dialect.frame(1))
            let heard = String(decoding: try await target.receive(upTo: dialect.line(1)), as: UTF8.self)
            #expect(!heard.lowercased().contains("portcullis.session"))
        }
    }
}
