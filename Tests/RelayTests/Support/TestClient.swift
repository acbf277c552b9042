import Foundation
import RelayCore

@testable import Relay

/// A client and its WebSocket.
struct TestClient {
    let link: ClientLink
    let socket: MemorySocket
    let bench: Bench
    /// The session's id and token, and the last number, from messages of the typed dialect.
    private(set) var sessionID = ""
    private(set) var token = ""
    private(set) var lastSeq: UInt64 = 0
    /// All text of the target's, and what was told besides.
    private(set) var text = ""
    private(set) var types: [String] = []
    private(set) var errors: [String] = []
    private(set) var gaps = 0
    private(set) var acknowledged: [Int] = []
    private var heard = 0

    init(link: ClientLink, socket: MemorySocket, bench: Bench) {
        self.link = link
        self.socket = socket
        self.bench = bench
    }

    var session: Session? { link.session }
    var newcomer: Newcomer? { link.newcomer }

    /// Sends a text message, and lets everything come of it.
    func say(_ text: String) {
        socket.send(text: text)
        bench.network.settle()
    }

    func type(_ text: String) { say(#"{"type":"input","text":"\#(text)"}"#) }

    /// Looks at what has been read since the last time.
    mutating func hear() {
        bench.network.settle()
        listen()
    }

    /// The same, without letting anything happen first.
    mutating func listen() {
        for message in socket.messages[heard...] { hear(message) }
        heard = socket.messages.count
    }

    private mutating func hear(_ message: MemorySocket.Message) {
        guard let fields = (try? JSONSerialization.jsonObject(with: Data(message.bytes))) as? [String: Any],
            let type = fields["type"] as? String
        else { return }
        types.append(type)
        if let seq = fields["seq"] as? Int { lastSeq = max(lastSeq, UInt64(seq)) }
        switch type {
        case "session", "resumed":
            sessionID = fields["sessionId"] as? String ?? ""
            token = fields["token"] as? String ?? ""
        case "data":
            let bytes = Data(base64Encoded: fields["payload"] as? String ?? "") ?? Data()
            text += String(decoding: bytes, as: UTF8.self)
        case "error": errors.append(fields["code"] as? String ?? "")
        case "gap": gaps += 1
        case "inputAck": acknowledged.append(fields["cid"] as? Int ?? -1)
        default: break
        }
    }

    var resumeMessage: String {
        #"{"type":"resume","sessionId":"\#(sessionID)","token":"\#(token)","lastSeq":\#(lastSeq)}"#
    }

    var resumeRequest: ResumeRequest { ResumeRequest(sessionID: sessionID, token: token, lastSeq: lastSeq) }

    /// The same player on another connection, which asks for the session.
    func resumed(on loop: Int = 0, from address: String = "192.0.2.1") throws -> TestClient {
        var next = try again(on: loop, from: address)
        next.say(resumeMessage)
        next.hear()
        return next
    }

    /// The same player on another connection, before it says anything.
    func again(on loop: Int = 0, from address: String = "192.0.2.1") throws -> TestClient {
        let other = try bench.client(.typed, on: loop, from: address)
        var next = TestClient(link: other.link, socket: other.socket, bench: bench)
        next.sessionID = sessionID
        next.token = token
        next.lastSeq = lastSeq
        next.text = text
        next.acknowledged = acknowledged
        return next
    }

    var closeReason: String? { socket.closeFrame?.reason }
    var closeCode: UInt16? { socket.closeFrame?.code }
}
