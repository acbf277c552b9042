import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Sessions of the typed dialect that outlive their WebSocket.
    @Suite struct ResumeTests {
        private typealias T = TelnetBytes

        @Test func `a session continues where its client left it`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            try await play.target.send("one")
            #expect(try await play.socket.nextTyped("data").payload == "one")
            await play.socket.connection.reset()
            try await play.target.send([T.iac, T.will, T.gmcp])
            _ = try await play.target.receive(upTo: [T.iac, T.do, T.gmcp])
            try await play.target.send(Array("two".utf8) + T.gmcp(#"Char.Vitals {"hp":7}"#) + Array("three".utf8))
            let (socket, resumed) = try await session.resumed(at: play.edge, after: 1)
            #expect(resumed["sessionId"] == session.id && resumed["token"]?.count == 64)
            #expect(resumed["token"] != session.token)
            #expect(
                try await socket.typedReplay(3) == [
                    #"{"type":"data","seq":2,"payload":"dHdv","replayed":true}"#,
                    #"{"type":"gmcp","seq":3,"package":"Char.Vitals","data":{"hp":7},"replayed":true}"#,
                    #"{"type":"data","seq":4,"payload":"dGhyZWU=","replayed":true}"#,
                ])
            try await play.target.send("four")
            let live = try await socket.nextTyped("data")
            #expect(live.payload == "four" && live.sequence == 5 && live.fields["replayed"] == nil)
            try await socket.send(text: #"{"type":"input","text":"look\r\n"}"#)
            _ = try await play.target.receive(upTo: "look\r\n")
            #expect(play.edge.target.connectionCount == 1)
            try await socket.send(text: #"{"type":"disconnect"}"#)
            #expect(try await socket.closedByServer().code == 1000)
            _ = try await play.target.receiveToEnd()
            let late = try await session.with(token: try #require(resumed["token"])).attempt(at: play.edge, after: 5)
            #expect(try await late.nextTyped("error")["code"] == "session_expired")
        }

        /// The kernel chooses the reactor of each connection: with this many, both are used.
        @Test(arguments: [false, true]) func `a resume works from any reactor`(tls: Bool) async throws {
            let certificates = tls ? try await DevCertificates.shared() : nil
            let target = try await TargetServer.start(.scripted, tls: certificates?.server)
            var settings = GatewaySettings(targetPort: target.port).setting("REACTOR_THREADS", 2)
            if let certificates {
                settings = settings.setting("MUD_TLS_MODE", "required").setting("MUD_CA_PATH", certificates.serverCA)
                    .setting("TN_HOST", "localhost")
            }
            let edge = Edge(target: target, gateway: try await GatewayProcess.start(settings))
            var socket = try await edge.gateway.open()
            var session = try await TypedSession.connect(socket)
            let mud = try await target.connection()
            for round in 0..<24 {
                try await mud.send("<\(round)>")
                // The session may leave before its reactor has read this: it is sent again, and applied once.
                let input = #"{"type":"input","text":"\#(round)!","cid":\#(round + 1)}"#
                try await socket.send(text: input)
                let resumed: ReceivedMessage
                (socket, resumed) = try await session.resumed(at: edge, after: 0)
                session = session.with(token: try #require(resumed["token"]))
                try await socket.send(text: input)
                var text = ""
                while !text.hasSuffix("<\(round)>") {
                    text += try #require(try await socket.nextTyped("data").payload)
                }
                #expect(text == (0...round).map { "<\($0)>" }.joined())
                #expect(try await mud.receiveText("\(round)!".count) == "\(round)!")
            }
            #expect(target.connectionCount == 1)
        }

        @Test func `a second client takes over a live session`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            let (socket, _) = try await session.resumed(at: play.edge, after: 0)
            let close = try await play.socket.closedByServer()
            #expect(close.code == 1008 && close.reason == "session_replaced")
            try await play.target.send("once")
            #expect(try await socket.nextTyped("data").payload == "once")
            try await socket.send(text: #"{"type":"input","text":"look\r\n"}"#)
            #expect(try await play.target.receive(upTo: "look\r\n") == Array("look\r\n".utf8))
        }

        @Test func `messages sent after a resume are processed after it`() async throws {
            let play = try await start { $0.setting("REACTOR_THREADS", 4) }
            var session = try await TypedSession.connect(play.socket)
            for round in 0..<12 {
                let socket = try await play.edge.gateway.open()
                let input = WebSocketFrame.text(#"{"type":"input","text":"\#(round)!"}"#).encoded()
                socket.connection.post(WebSocketFrame.text(session.message(after: 0)).encoded() + input + input)
                let resumed = try await socket.nextTyped("resumed")
                session = session.with(token: try #require(resumed["token"]))
                #expect(try await play.target.receiveText(2 * "\(round)!".count) == "\(round)!\(round)!")
            }
        }

        /// A client that has lost several answers: the last connection gets the session, and none is told that the
        /// session has ended.
        @Test func `one of many concurrent resumes gets the session`() async throws {
            let play = try await start { $0.setting("REACTOR_THREADS", 2) }
            let session = try await TypedSession.connect(play.socket)
            for round in 0..<8 {
                let sockets = try await inParallel(12) { _ in try await play.edge.gateway.open() }
                let resume = WebSocketFrame.text(session.message(after: 0)).encoded()
                for socket in sockets { socket.connection.post(resume) }
                let answers = try await inParallel(12) { try await sockets[$0].nextMessage() }
                for answer in answers where answer["type"] != "resumed" { #expect(answer["code"] == "rate_limited") }
                #expect(answers.contains { $0["type"] == "resumed" })
                let (socket, _) = try await session.resumed(at: play.edge, after: 0)
                try await socket.send(text: #"{"type":"input","text":"\#(round)!"}"#)
                _ = try await play.target.receive(upTo: "\(round)!")
                for socket in sockets { await socket.connection.reset() }
            }
            #expect(play.edge.target.connectionCount == 1)
        }

        /// A delayed `resume` takes the session from the connection that was answered.
        @Test func `a client overtaken by its own old resume can resume again`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            let (socket, resumed) = try await session.resumed(at: play.edge, after: 0)
            let (slow, _) = try await session.resumed(at: play.edge, after: 0)
            #expect(try await socket.closedByServer().reason == "session_replaced")
            await slow.connection.reset()
            _ = try await session.with(token: try #require(resumed["token"])).resumed(at: play.edge, after: 0)
        }

        @Test func `the previous token is valid if the answer was lost`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            _ = try await session.resumed(at: play.edge, after: 0)
            let (_, resumed) = try await session.resumed(at: play.edge, after: 0)
            let (_, third) = try await session.with(token: try #require(resumed["token"])).resumed(
                at: play.edge, after: 0)
            // The token before the previous one is invalid.
            let socket = try await session.attempt(at: play.edge, after: 0)
            #expect(try await socket.nextTyped("error")["code"] == "invalid_resume")
            #expect(third["token"] != resumed["token"])
        }

        @Test(arguments: [
            ("00000000-0000-4000-8000-000000000000", "session_expired", "The session has expired"),
            (nil, "invalid_resume", nil),
        ]) func `a wrong session or token is refused and the client may connect`(
            id: String?, code: String, text: String?
        ) async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            let wrong = TypedSession(id: id ?? session.id, token: String(repeating: "0", count: 64))
            let socket = try await wrong.attempt(at: play.edge, after: 0)
            let error = try await socket.nextTyped("error")
            #expect(error["code"] == code)
            if let text { #expect(error["message"] == text) }
            _ = try await TypedSession.connect(socket)
        }

        /// The keys of two devices: one device can't resume the other's session, whatever token it presents.
        @Test func `another identity is refused`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start(.scripted) { $0.appAttest(apple) }
            let (first, second) = (
                try await apple.enrolledDevice(at: edge.gateway), try await apple.enrolledDevice(at: edge.gateway)
            )
            let session = try await TypedSession.connect(edge.gateway.open(first.handshake(at: edge.gateway)))
            let stolen = try await edge.gateway.open(second.handshake(at: edge.gateway))
            try await stolen.send(text: session.message(after: 0))
            #expect(try await stolen.nextTyped("error")["code"] == "invalid_resume")
            let own = try await edge.gateway.open(first.handshake(at: edge.gateway))
            try await own.send(text: session.message(after: 0))
            _ = try await own.nextTyped("resumed")
        }

        @Test func `output that the buffer couldn't keep is announced`() async throws {
            let play = try await start { $0.setting("OUTPUT_BUFFER_BYTES", 1024) }
            let session = try await TypedSession.connect(play.socket)
            await play.socket.connection.reset()
            for round in 0..<40 { try await play.target.send(String(repeating: "\(round % 10)", count: 100)) }
            try await play.target.send([T.iac, T.do, T.terminalType])
            _ = try await play.target.receive(upTo: [T.iac, T.will, T.terminalType])
            let (socket, _) = try await session.resumed(at: play.edge, after: 0)
            let gap = try await socket.nextTyped("gap")
            let lost = try #require(gap.fields["bytes"] as? Int)
            let last = try #require(gap.fields["toSeq"] as? Int)
            #expect(gap.fields["fromSeq"] as? Int == 1)
            let text = try await socket.typedText(4000 - lost)
            #expect(lost >= 4000 - 1024 && lost < 4000 && text.utf8.count == 4000 - lost, "\(lost)")
            #expect(text.hasSuffix(String(repeating: "9", count: 100)) && last > 0)
        }

        @Test func `input with an identifier is applied once`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            let input = #"{"type":"input","text":"north\r\n","cid":1}"#
            try await play.socket.send(text: input)
            _ = try await play.target.receive(upTo: "north\r\n")
            await play.socket.connection.reset()
            let (socket, _) = try await session.resumed(at: play.edge, after: 0)
            try await socket.send(text: input)
            #expect(try await socket.nextText() == #"{"type":"inputAck","cid":1}"#)
            try await socket.send(text: #"{"type":"input","text":"south\r\n","cid":2}"#)
            #expect(try await play.target.receive(upTo: "south\r\n") == Array("south\r\n".utf8))
        }

        @Test func `a password prompt is still one after a resume`() async throws {
            let play = try await start()
            let session = try await TypedSession.connect(play.socket)
            try await play.target.send([T.iac, T.will, T.echo])
            #expect(try await play.socket.nextTyped("echo").sequence == 1)
            await play.socket.connection.reset()
            let (socket, _) = try await session.resumed(at: play.edge, after: 1)
            #expect(
                try await socket.nextText() == #"{"type":"echo","seq":1,"suppressed":true,"replayed":true}"#)
        }

        @Test func `a client that reads too slowly is detached and can resume`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("PING_INTERVAL_SECONDS", 5).setting("OUTPUT_BUFFER_BYTES", 16_777_216)
            }
            let slow = try await edge.gateway.open(receiveBuffer: 65_536)
            let session = try await TypedSession.connect(slow)
            try await slow.connection.setReading(false)
            // More than the sockets between hold.
            let bytes = [UInt8](repeating: 0x61, count: 6 << 20)
            try await edge.target.connection().post(bytes)
            try await edge.gateway.logLine("session detached")
            let (socket, _) = try await session.resumed(at: edge, after: 0)
            var count = 0
            while count < bytes.count { count += try await socket.nextTyped("data").payload?.utf8.count ?? 0 }
            #expect(count == bytes.count && edge.target.connectionCount == 1)
        }

        @Test func `after its grace period a session ends and the target is told`() async throws {
            let play = try await start { $0.setting("RESUME_GRACE_MINUTES", 0) }
            let session = try await TypedSession.connect(play.socket)
            await play.socket.connection.reset()
            _ = try await play.target.receiveToEnd()
            let socket = try await session.attempt(at: play.edge, after: 0)
            #expect(try await socket.nextTyped("error")["code"] == "session_expired")
        }

        @Test func `the target may be told about its client`() async throws {
            let play = try await start { $0.setting("SESSION_EVENTS_GMCP", "true") }
            let session = try await TypedSession.connect(play.socket)
            try await play.target.send([T.iac, T.will, T.gmcp])
            _ = try await play.target.receive(upTo: [T.iac, T.do, T.gmcp])
            await play.socket.connection.reset()
            _ = try await play.target.receive(upTo: T.gmcp(#"Portcullis.Session {"state":"detached"}"#))
            _ = try await session.resumed(at: play.edge, after: 0)
            _ = try await play.target.receive(upTo: T.gmcp(#"Portcullis.Session {"state":"attached"}"#))
        }

        @Test func `a drain tells clients when to reconnect`() async throws {
            let play = try await start { $0.setting("SHUTDOWN_GRACE_MS", 500) }
            _ = try await TypedSession.connect(play.socket)
            play.edge.gateway.terminate()
            let draining = try await play.socket.nextTyped("draining")
            let after = try #require(draining.fields["reconnectAfterMs"] as? Int)
            #expect((5000...10_000).contains(after))
            #expect(try await play.socket.closedByServer().code == 1001)
        }

        private func start(
            _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> (edge: Edge, socket: TestWebSocket, target: TargetConnection) {
            let edge = try await Edge.start(.scripted, change)
            let socket = try await edge.gateway.open()
            return (edge, socket, try await edge.target.connection())
        }
    }
}

/// The session data that a typed client has.
struct TypedSession: Sendable {
    let id: String
    let token: String

    static func connect(_ socket: TestWebSocket) async throws -> TypedSession {
        let session = try await socket.connectTyped()
        guard let id = session["sessionId"], let token = session["token"] else {
            throw EdgeTestError("no session: \(session.text)")
        }
        return TypedSession(id: id, token: token)
    }

    func with(token: String) -> TypedSession { TypedSession(id: id, token: token) }

    func message(after lastSeq: Int) -> String {
        #"{"type":"resume","sessionId":"\#(id)","token":"\#(token)","lastSeq":\#(lastSeq)}"#
    }

    /// A new connection that has asked for the session.
    func attempt(
        at edge: Edge, after lastSeq: Int, presenting handshake: Handshake = Handshake()
    ) async throws -> TestWebSocket {
        let socket = try await edge.gateway.open(handshake)
        try await socket.send(text: message(after: lastSeq))
        return socket
    }

    func resumed(
        at edge: Edge, after lastSeq: Int, presenting handshake: Handshake = Handshake()
    ) async throws -> (TestWebSocket, ReceivedMessage) {
        let socket = try await attempt(at: edge, after: lastSeq, presenting: handshake)
        return (socket, try await socket.nextTyped("resumed"))
    }
}

extension TestWebSocket {
    func typedReplay(_ count: Int) async throws -> [String] {
        var messages: [String] = []
        while messages.count < count { messages.append(try await nextText()) }
        return messages
    }
}
