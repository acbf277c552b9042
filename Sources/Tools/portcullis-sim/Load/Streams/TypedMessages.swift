import Foundation
import RelayCore
import StrictJSON
import WireText

/// A message from a client of the typed dialect.
enum TypedRequest {
    /// The session's target, in the form of the message `connect`.
    enum Target: Hashable, Sendable {
        case address(host: String, port: Int)
        case route(String)
    }

    static func connect(_ target: Target) -> [UInt8] {
        switch target {
        case .address(let host, let port):
            message("connect", [("host", .string(host)), ("port", .integer(port))])
        case .route(let name): message("connect", [("target", .string(name))])
        }
    }

    static func resume(_ session: TypedSession.Identity, lastSequence: Int) -> [UInt8] {
        message(
            "resume",
            [
                ("sessionId", .string(session.id)), ("token", .string(session.token)),
                ("lastSeq", .integer(lastSequence)),
            ])
    }

    static func acknowledge(_ session: TypedSession.Identity, lastSequence: Int) -> [UInt8] {
        message("syncAck", [("sessionId", .string(session.id)), ("lastSeq", .integer(lastSequence))])
    }

    /// - Parameter number: among the session's inputs; the gateway applies each once, however often it is sent. nil:
    ///   unnumbered.
    static func input(_ text: [UInt8], number: UInt64?) -> [UInt8] {
        let cid = number.map { ("cid", JSONValue.integer(Int(clamping: $0))) }
        return message("input", [("text", .string(String(decoding: text, as: UTF8.self)))] + [cid].compactMap(\.self))
    }

    private static func message(_ type: String, _ members: [(String, JSONValue)]) -> [UInt8] {
        var bytes: [UInt8] = []
        let all = [("type", JSONValue.string(type))] + members
        JSONWriter.append(.object(JSONObject(all.map { JSONObject.Member($0.0, $0.1) })), to: &bytes)
        return bytes
    }
}

/// A message from the gateway in the typed dialect.
enum TypedAnswer: Hashable, Sendable {
    case session(TypedSession.Identity)
    /// Contains a new token.
    case resumed(TypedSession.Identity)
    case data(sequence: Int, payload: [UInt8], isReplayed: Bool)
    /// Any other numbered message: gmcp, echo, prompt.
    case other(sequence: Int, isReplayed: Bool)
    /// The input with this number was applied, now or earlier.
    case inputAcknowledged(UInt64)
    /// Lost history: these numbers, both inclusive, won't arrive, nor this many bytes.
    case gap(from: Int, to: Int, bytes: UInt64)
    case error(code: String)
    case disconnected
    /// Irrelevant here.
    case notice

    /// - Returns: nil if it isn't a message of the dialect.
    init?(_ message: [UInt8]) {
        guard case .object(let object)? = try? JSONReader.read(message[...]), case .string(let type)? = object["type"]
        else { return nil }
        switch type {
        case "session":
            guard let identity = object.identity else { return nil }
            self = .session(identity)
        case "resumed":
            guard let identity = object.identity else { return nil }
            self = .resumed(identity)
        case "data":
            guard let sequence = object.integer("seq"),
                let payload = object.text("payload").flatMap({ Data(base64Encoded: $0) })
            else { return nil }
            self = .data(sequence: sequence, payload: [UInt8](payload), isReplayed: object.isReplayed)
        case "gmcp", "echo", "prompt":
            guard let sequence = object.integer("seq") else { return nil }
            self = .other(sequence: sequence, isReplayed: object.isReplayed)
        case "inputAck":
            guard let number = object.integer("cid"), number > 0 else { return nil }
            self = .inputAcknowledged(UInt64(number))
        case "gap":
            guard let from = object.integer("fromSeq"), let to = object.integer("toSeq"),
                let bytes = object.integer("bytes"), bytes >= 0, to >= from
            else { return nil }
            self = .gap(from: from, to: to, bytes: UInt64(bytes))
        case "error": self = .error(code: object.text("code") ?? "error_without_code")
        case "disconnected": self = .disconnected
        case "ticket", "draining": self = .notice
        // In particular a client's own messages: they mean that something other than the gateway echoes.
        default: return nil
        }
    }
}

extension JSONObject {
    fileprivate func text(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    fileprivate func integer(_ name: String) -> Int? {
        if case .integer(let number)? = self[name] { number } else { nil }
    }

    fileprivate var identity: TypedSession.Identity? {
        guard let id = text("sessionId"), let token = text("token") else { return nil }
        return TypedSession.Identity(id: id, token: token)
    }

    fileprivate var isReplayed: Bool { self["replayed"] == .bool(true) }
}
