import Foundation

/// The Chrome DevTools Protocol for one page: calls, their results, and the events in between.
///
/// For one task at a time: the connection is read only during a call or a wait.
final class DevTools {
    struct Event {
        let method: String
        let parameters: [String: Any]
    }

    private let socket: TestWebSocket
    private var lastID = 0
    private(set) var events: [Event] = []

    init(_ socket: TestWebSocket) {
        self.socket = socket
    }

    @discardableResult
    func call(_ method: String, _ parameters: [String: Any] = [:]) async throws -> [String: Any] {
        lastID += 1
        let id = lastID
        let call: [String: Any] = ["id": id, "method": method, "params": parameters]
        try await socket.send(text: String(decoding: try JSONSerialization.data(withJSONObject: call), as: UTF8.self))
        while true {
            let message = try await nextMessage("an answer to \(method) \(parameters)")
            if note(message) { continue }
            guard message["id"] as? Int == id else { continue }
            if let error = message["error"] { throw EdgeTestError("\(method): \(error)") }
            return message["result"] as? [String: Any] ?? [:]
        }
    }

    /// The first matching event from number `start` on; waits for it if necessary.
    func event(_ what: String, from start: Int, where matches: (Event) -> Bool) async throws -> Event {
        var next = start
        while true {
            while next < events.count {
                if matches(events[next]) { return events[next] }
                next += 1
            }
            _ = note(try await nextMessage(what))
        }
    }

    private func note(_ message: [String: Any]) -> Bool {
        guard let method = message["method"] as? String else { return false }
        events.append(Event(method: method, parameters: message["params"] as? [String: Any] ?? [:]))
        return true
    }

    private func nextMessage(_ what: String) async throws -> [String: Any] {
        var bytes: [UInt8] = []
        while true {
            let frame: WebSocketFrame
            do { frame = try await socket.nextFrame() } catch { throw EdgeTestError("waiting for \(what): \(error)") }
            guard [WebSocketFrame.Opcode.text, WebSocketFrame.Opcode.continuation].contains(frame.opcode) else {
                continue
            }
            bytes += frame.payload
            guard frame.isFinal else { continue }
            guard let message = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] else {
                throw EdgeTestError("not a message: \(frame)")
            }
            return message
        }
    }
}
