import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Sessions of the dialects that resume by the query of their upgrade.
    @Suite struct ResumeByQueryTests {
        private typealias T = TelnetBytes

        @Test func `a GMCP session resumes at the exact byte`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(Handshake().offering("gmcp.mudstandards.org"))
            let session = try QuerySession(gmcp: try await socket.nextText())
            #expect(session.seq == 0)
            let mud = try await edge.target.connection()
            try await mud.send([T.iac, T.will, T.gmcp])
            _ = try await mud.receive(upTo: [T.iac, T.do, T.gmcp])
            try await mud.send(Array("Hall".utf8) + T.gmcp(#"Room {"n":1}"#))
            #expect(try await socket.receiveText(4) == "Hall")
            #expect(try await socket.nextText() == #"Room {"n":1}"#)
            await socket.connection.reset()
            try await mud.send("Exit")
            // It has seen the first two letters; what followed is sent again.
            let back = try await edge.gateway.open(session.handshake("gmcp.mudstandards.org", after: 2))
            let resumed = try QuerySession(gmcp: try await back.nextText())
            #expect(resumed.seq == 2 && resumed.isResumed && resumed.id == session.id && resumed.token != session.token)
            #expect(try await back.receiveText(2) == "ll")
            #expect(try await back.nextText() == #"Room {"n":1}"#)
            #expect(try await back.receiveText(4) == "Exit")
            try await back.send(binary: Array("look\r\n".utf8))
            _ = try await mud.receive(upTo: "look\r\n")
            #expect(edge.target.connectionCount == 1)
            // A Close with 1000 is the end.
            try await back.close(1000)
            _ = try await mud.receiveToEnd()
        }

        @Test func `JSON reports lost output`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("OUTPUT_BUFFER_BYTES", 1024) }
            let socket = try await edge.gateway.open(Handshake().offering("json.mudstandards.org"))
            let session = try QuerySession(json: try await socket.nextText())
            let mud = try await edge.target.connection()
            await socket.connection.reset()
            for letter in "abcd" { try await mud.send(String(repeating: letter, count: 1000)) }
            try await mud.send([T.iac, T.do, T.terminalType])
            _ = try await mud.receive(upTo: [T.iac, T.will, T.terminalType])
            let back = try await edge.gateway.open(session.handshake("json.mudstandards.org", after: 0))
            let resumed = try QuerySession(json: try await back.nextText())
            let gap = try await back.nextMessage()
            #expect(gap["id"] == "Portcullis.Gap" || gap.text.contains("gap"), "\(gap.text)")
            #expect(resumed.seq >= 4000 - 1024 && resumed.seq < 4000)
            let text = try await back.receiveText(4000 - resumed.seq)
            #expect("abcd".map { String(repeating: $0, count: 1000) }.joined().hasSuffix(text))
        }

        /// A client that requested a session, then a target, and has closed: the session belongs to another dialect,
        /// wherever it is.
        @Test func `input after a failed resume isn't dialled`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("REACTOR_THREADS", 4).setting("MAX_SESSIONS_GLOBAL", 20).setting("CLOSE_FLUSH_MS", 200)
            }
            let owner = try await edge.gateway.open(Handshake().offering("gmcp.mudstandards.org"))
            let session = try QuerySession(gmcp: try await owner.nextText())
            _ = try await edge.target.connection()
            let resume = TypedSession(id: session.id, token: session.token).message(after: 0)
            let messages = [resume, #"{"type":"connect","target":""}"#].map { WebSocketFrame.text($0).encoded() }
            for _ in 0..<40 {
                let socket = try await edge.openEventually()
                socket.connection.post(messages.flatMap { $0 } + WebSocketFrame.close(1000).encoded())
                _ = try await socket.connection.receiveToEnd()
            }
            try await edge.expectRoom(for: 19)
            #expect(edge.target.connectionCount <= 1 + 19)
        }

        @Test(arguments: [
            ("gmcp.mudstandards.org", "session_expired"), ("json.mudstandards.org", "session_expired"),
            ("terminal.mudstandards.org", "invalid_resume"), ("telnet.mudstandards.org", "invalid_resume"),
        ]) func `a session that can't be resumed is closed`(subprotocol: String, reason: String) async throws {
            let edge = try await Edge.start(.scripted)
            let nobodys = QuerySession(
                id: "00000000-0000-4000-8000-000000000000", token: String(repeating: "0", count: 64))
            let socket = try await edge.gateway.open(nobodys.handshake(subprotocol, after: 0))
            let close = try await socket.closedByServer()
            #expect(close.code == 1008 && close.reason == reason)
            #expect(edge.target.connectionCount == 0)
        }

        @Test(arguments: ["session=x", "session=x&token=y", "session=x&token=y&lastSeq=-1", "lastSeq=1"])
        func `a partial session in the query is answered as no resume`(query: String) async throws {
            let edge = try await Edge.start(.scripted)
            let answer = try await edge.gateway.refusal(Handshake().path("/?\(query)"))
            expectRefusal(answer, 404, "not_found")
        }
    }
}

/// The session data that a client of the gmcp and json dialects has.
struct QuerySession {
    let id: String
    let token: String
    var seq = 0
    var isResumed = false

    init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    init(gmcp message: String) throws {
        let name = "Portcullis.Session "
        guard message.hasPrefix(name) else { throw EdgeTestError("no session: \(message)") }
        try self.init(Data(message.dropFirst(name.count).utf8))
    }

    init(json message: String) throws {
        guard let envelope = try JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any],
            let data = envelope["data"] as? String
        else { throw EdgeTestError("no session: \(message)") }
        try self.init(Data(data.utf8))
    }

    private init(_ data: Data) throws {
        guard let fields = try JSONSerialization.jsonObject(with: data) as? [String: Any],
            let id = fields["id"] as? String, let token = fields["token"] as? String, let seq = fields["seq"] as? Int,
            let isResumed = fields["resumed"] as? Bool
        else { throw EdgeTestError("no session: \(data)") }
        self.init(id: id, token: token)
        self.seq = seq
        self.isResumed = isResumed
    }

    func handshake(_ subprotocol: String, after lastSeq: Int) -> Handshake {
        Handshake().path("/?session=\(id)&token=\(token)&lastSeq=\(lastSeq)").offering(subprotocol)
    }
}
