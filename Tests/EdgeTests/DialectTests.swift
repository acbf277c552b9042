import Compression
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Each client dialect from the WebSocket to the target's telnet and back.
    @Suite struct DialectTests {
        private typealias T = TelnetBytes

        @Test func `a terminal gets text only and the gateway handles telnet`() async throws {
            let play = try await start("terminal.mudstandards.org")
            let (socket, target) = (play.socket, play.target)
            #expect(socket.answer["sec-websocket-protocol"] == "terminal.mudstandards.org")
            try await target.send([T.iac, T.will, T.echo] + Array("Na".utf8) + [T.iac, T.do, T.terminalType, 0xC3])
            #expect(try await target.receive(upTo: [T.iac, T.will, T.terminalType]).contains(T.do))
            let rest: [UInt8] = [0xAF] + Array("ve \u{1B}[1mbold\u{1B}[0m".utf8) + [T.iac, T.goAhead]
            try await target.send(rest + T.subnegotiation(T.terminalType, [1]))
            #expect(try await socket.receiveText(19) == "Naïve \u{1B}[1mbold\u{1B}[0m")
            let answer = try await target.receive(upTo: [T.iac, T.end])
            #expect(answer.starts(with: [T.iac, T.begin, T.terminalType, 0]))
            try await socket.send(binary: Array("look ÿ\r\n".utf8))
            try await socket.send(text: "north\r\n")
            #expect(try await target.receive(upTo: "north\r\n") == Array("look ÿ\r\nnorth\r\n".utf8))
            try await play.edge.expectHealthy()
        }

        @Test func `GMCP is sent as text messages beside the text`() async throws {
            let play = try await start("gmcp.mudstandards.org", query: "/?cols=100&rows=30")
            let (socket, target) = (play.socket, play.target)
            #expect(try await socket.nextText().hasPrefix("Portcullis.Session "))
            try await target.send([T.iac, T.will, T.gmcp, T.iac, T.do, T.windowSize])
            _ = try await target.receive(upTo: T.subnegotiation(T.windowSize, [0, 100, 0, 30]))
            try await target.send(Array("Hall".utf8) + T.gmcp(#"Char.Vitals {"hp":7}"#) + Array("Exit".utf8))
            #expect(try await socket.nextMessage() == ReceivedMessage(isText: false, bytes: Array("Hall".utf8)))
            #expect(try await socket.nextText() == #"Char.Vitals {"hp":7}"#)
            #expect(try await socket.receiveText(4) == "Exit")
            try await target.send([T.iac, T.will, T.echo] + T.gmcp("Room.Leave"))
            #expect(try await socket.nextText() == #"Portcullis.Echo {"suppressed":true}"#)
            #expect(try await socket.nextText() == "Room.Leave")
            try await socket.send(text: #"Char.Skills.Get {"group":"magic"}"#)
            _ = try await target.receive(upTo: T.gmcp(#"Char.Skills.Get {"group":"magic"}"#))
            try await socket.send(text: #"Portcullis.Size {"cols":90,"rows":20}"#)
            _ = try await target.receive(upTo: T.subnegotiation(T.windowSize, [0, 90, 0, 20]))
            try await socket.send(text: "Broken {")
            #expect(try await socket.nextText().hasPrefix("Portcullis.Error "))
            try await socket.send(binary: Array("look\n".utf8))
            #expect(try await target.receive(upTo: "\n").starts(with: Array("look".utf8)))
        }

        @Test func `JSON envelopes are sent in both directions`() async throws {
            let play = try await start("json.mudstandards.org")
            let (socket, target) = (play.socket, play.target)
            #expect(try await socket.nextMessage()["proto"] == "session")
            try await target.send([T.iac, T.will, T.gmcp])
            _ = try await target.receive(upTo: [T.iac, T.do, T.gmcp])
            try await target.send(Array("> ".utf8) + [T.iac, T.goAhead] + T.gmcp(#"Char.Vitals {"hp":7}"#))
            #expect(try await socket.receiveText(2) == "> ")
            #expect(try await socket.nextText() == #"{"proto":"prompt","id":"","data":""}"#)
            #expect(try await socket.nextText() == #"{"proto":"gmcp","id":"Char.Vitals","data":"{\"hp\":7}"}"#)
            for data in [#"{"group":1}"#, #""{\"group\":1}""#] {
                try await socket.send(text: #"{"proto":"gmcp","id":"Char.Skills.Get","data":\#(data)}"#)
                _ = try await target.receive(upTo: T.gmcp(#"Char.Skills.Get {"group":1}"#))
            }
            try await socket.send(text: #"{"proto":"text","id":"","data":"look"}"#)
            _ = try await target.receive(upTo: "look\r\n")
            try await socket.send(text: #"{"proto":"nonsense"}"#)
            #expect(try await socket.nextMessage()["proto"] == "error")
            try await socket.send(text: #"{"proto":"websocket_close"}"#)
            #expect(try await socket.closedByServer().code == 1000)
        }

        // MARK: Typed

        @Test func `a typed session works from connect to disconnect`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await target.send(Array("Welcome".utf8) + [T.iac, T.will, T.gmcp])
            let session = try await socket.connectTyped(#""host":"mud.example","port":4000,"width":100,"height":30"#)
            #expect(session["sessionId"]?.count == 36 && session["token"]?.count == 64)
            let welcome = try await socket.nextTyped("data")
            #expect(welcome.payload == "Welcome" && welcome.sequence == 1)
            _ = try await target.receive(upTo: [T.iac, T.do, T.gmcp])
            try await target.send([T.iac, T.will, T.echo] + Array("Password: ".utf8) + [T.iac, T.goAhead])
            try await target.send(T.gmcp(#"Char.Vitals {"hp":7}"#))
            #expect(try await socket.nextText() == #"{"type":"echo","seq":2,"suppressed":true}"#)
            #expect(try await socket.nextTyped("data").payload == "Password: ")
            #expect(try await socket.nextText() == #"{"type":"prompt","seq":4}"#)
            #expect(
                try await socket.nextText()
                    == #"{"type":"gmcp","seq":5,"package":"Char.Vitals","data":{"hp":7}}"#)
            try await socket.send(text: #"{"type":"input","text":"secret\n"}"#)
            try await socket.send(text: #"{"type":"gmcp","package":"Core.Ping"}"#)
            _ = try await target.receive(upTo: "secret")
            _ = try await target.receive(upTo: T.gmcp("Core.Ping"))
            try await target.send([T.iac, T.do, T.windowSize])
            _ = try await target.receive(upTo: T.subnegotiation(T.windowSize, [0, 100, 0, 30]))
            try await socket.send(text: #"{"type":"disconnect"}"#)
            #expect(try await socket.closedByServer().code == 1000)
            _ = try await target.receiveToEnd()
        }

        @Test func `a typed client is told that the target has ended`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            let session = try await socket.connectTyped()
            try await target.send("Goodbye")
            try await target.finish()
            #expect(try await socket.nextTyped("data").payload == "Goodbye")
            let disconnected = try await socket.nextTyped("disconnected")
            #expect(disconnected["sessionId"] == session["sessionId"])
            #expect(disconnected["reason"] == "MUD connection closed")
            #expect(try await socket.closedByServer().code == 1000)
        }

        @Test func `a typed client may try again if its target can't be reached`() async throws {
            let edge = try await Edge.start(.scripted)
            await edge.target.stopListening()
            let socket = try await edge.gateway.open()
            for _ in 0..<2 {
                try await socket.send(text: #"{"type":"connect","host":"mud.example","port":4000}"#)
                let error = try await socket.nextTyped("error")
                #expect(error["code"] == "connection_failed")
                #expect(error["message"] == "Could not connect to the MUD server")
            }
            try await socket.send(text: #"{"type":"disconnect"}"#)
            #expect(try await socket.closedByServer().code == 1000)
        }

        @Test func `messages before connect are answered with errors and the connection stays open`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            let wrong = [
                (#"{"type":"input","text":"early"}"#, "This connection has no session"),
                (#"{"type":"nonsense"}"#, "Unknown message type: nonsense"),
                (#"{"type":"#, "Message is not valid JSON"),
                (#"{"type":"connect","port":1}"#, "host must be a non-empty string"),
                (#"{"type":"resume","sessionId":"x","token":"y","lastSeq":0}"#, "The session has expired"),
            ]
            for (message, text) in wrong {
                try await socket.send(text: message)
                #expect(try await socket.nextTyped("error")["message"] == text)
            }
            try await socket.connectTyped()
            try await socket.send(text: #"{"type":"input","text":"look\r\n"}"#)
            #expect(try await target.receive(upTo: "\r\n") == Array("look\r\n".utf8))
        }

        @Test(arguments: ["typed", "legacy"]) func `a client that names no target in time is closed`(dialect: String)
            async throws
        {
            let edge = try await Edge.start(.scripted) {
                $0.setting("PING_INTERVAL_SECONDS", 5).setting("DEFAULT_DIALECT", dialect)
            }
            let (idle, connected) = (try await edge.gateway.open(), try await edge.gateway.open())
            let connect = dialect == "typed" ? #"{"type":"connect","host":"mud.example","port":1}"# : #"{"connect":1}"#
            try await connected.send(text: connect)
            let target = try await edge.target.connection()
            let close = try await idle.closedByServer()
            #expect(close.code == 1008 && close.reason == "no target was named in time")
            try await target.send(Array("still here".utf8))
            _ = try await connected.nextMessage()
        }

        // MARK: Legacy

        @Test func `a legacy frame is base64 of a deflated piece of the stream`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await socket.send(text: #"{"connect":1,"client":"Old","ttype":"ansi"}"#)
            try await target.send(Array("Willkommen ".utf8) + [T.iac, T.will, T.echo] + Array("zurück".utf8))
            let whole = Array("Willkommen ".utf8) + [T.iac, T.will, T.echo] + Array("zurück".utf8)
            var stream: [UInt8] = []
            while stream.count < whole.count {
                let frame = try await socket.nextText()
                var deflated = [UInt8](try #require(Data(base64Encoded: frame)))[...]
                let piece = try Inflater(format: .raw).inflate(&deflated, limit: 65_536)
                #expect(piece.isEnd && deflated.isEmpty)
                stream += piece.bytes
            }
            #expect(stream == whole)
            try await socket.send(text: "look\r\n")
            _ = try await target.receive(upTo: "look\r\n")
            try await socket.send(text: #"{"connect":1}"#)
            _ = try await socket.nextText()
            #expect(try await socket.closedByServer().code == 1008)
        }

        private func start(
            _ subprotocol: String? = nil, query: String = "/"
        ) async throws -> Play {
            let edge = try await Edge.start(.scripted) { $0.setting("DIALECT_WAIT_MS", 60_000) }
            let handshake = Handshake().path(query).setting("Sec-WebSocket-Protocol", subprotocol)
            let socket = try await edge.gateway.open(handshake)
            return Play(edge: edge, socket: socket, target: try await edge.target.connection())
        }
    }
}
