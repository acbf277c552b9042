import EdgeTestKit
import Foundation

/// Telnet's bytes (RFC 854), defined once for all tests of this folder.
enum TelnetBytes {
    static let iac: UInt8 = 255, dont: UInt8 = 254, `do`: UInt8 = 253, wont: UInt8 = 252, will: UInt8 = 251
    static let begin: UInt8 = 250, goAhead: UInt8 = 249, noOperation: UInt8 = 241, end: UInt8 = 240

    static let echo: UInt8 = 1, terminalType: UInt8 = 24, windowSize: UInt8 = 31, newEnvironment: UInt8 = 39
    static let charset: UInt8 = 42, mccp2: UInt8 = 86, gmcp: UInt8 = 201

    static func subnegotiation(_ option: UInt8, _ payload: [UInt8] = []) -> [UInt8] {
        [iac, begin, option] + payload + [iac, end]
    }

    static func gmcp(_ message: String) -> [UInt8] { subnegotiation(gmcp, Array(message.utf8)) }
}

/// One whole message of the gateway.
struct ReceivedMessage: Sendable, Equatable {
    let isText: Bool
    let bytes: [UInt8]

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The members of a JSON object.
    var fields: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]) ?? [:]
    }

    subscript(name: String) -> String? { fields[name] as? String }
    var sequence: Int? { fields["seq"] as? Int }

    /// The text in a typed `data` message.
    var payload: String? {
        self["payload"].flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension TestWebSocket {
    /// The next whole message, its fragments joined. Pings are answered; a Close is an error.
    func nextMessage(within limit: Duration = .seconds(20)) async throws -> ReceivedMessage {
        var opcode: UInt8?
        var bytes: [UInt8] = []
        while true {
            let frame = try await nextFrame(within: limit)
            switch frame.opcode {
            case WebSocketFrame.Opcode.ping: try await send(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload))
            case WebSocketFrame.Opcode.pong: continue
            case WebSocketFrame.Opcode.close: throw EdgeTestError("instead of a message: \(frame)")
            default:
                opcode = opcode ?? frame.opcode
                bytes += frame.payload
                if frame.isFinal { return ReceivedMessage(isText: opcode == WebSocketFrame.Opcode.text, bytes: bytes) }
            }
        }
    }

    /// The next message, which has to be text.
    func nextText() async throws -> String {
        let message = try await nextMessage()
        guard message.isText else { throw EdgeTestError("a binary message: \(message.text)") }
        return message.text
    }

    /// The next message of the typed protocol, which has to be of this type.
    func nextTyped(_ type: String) async throws -> ReceivedMessage {
        let message = try await nextMessage()
        guard message.isText, message["type"] == type else {
            throw EdgeTestError("instead of \(type): \(message.text.prefix(500))")
        }
        return message
    }

    /// Reads as many typed `data` messages as needed for the text, to its last byte.
    func typedText(_ count: Int) async throws -> String {
        var text = ""
        while text.utf8.count < count {
            guard let piece = try await nextTyped("data").payload else { throw EdgeTestError("data without payload") }
            text += piece
        }
        return text
    }

    /// Begins a session of the typed protocol with the gateway's default target.
    @discardableResult
    func connectTyped(_ target: String = #""host":"mud.example","port":4000"#) async throws -> ReceivedMessage {
        try await send(text: #"{"type":"connect",\#(target)}"#)
        return try await nextTyped("session")
    }
}

extension TargetConnection {
    /// Everything up to and including the first `mark`.
    func receive(upTo mark: [UInt8]) async throws -> [UInt8] {
        try await stream.wait(for: "\(mark) at the target", within: .seconds(20)) { stream in
            if let found = stream.unread.firstRange(of: mark) {
                return stream.take(found.upperBound - stream.unread.startIndex)
            }
            if stream.isAtEnd { throw EdgeTestError("the gateway ended before \(mark): \(stream)") }
            return nil
        }
    }

    func receive(upTo mark: String) async throws -> [UInt8] { try await receive(upTo: Array(mark.utf8)) }
}

/// One session through a gateway, with a target that the test controls. A reference to it keeps all of them alive.
struct Play: Sendable {
    let edge: Edge
    let socket: TestWebSocket
    let target: TargetConnection
}
