/// A WebSocket client that shares no code with the gateway: it checks received data as strictly as RFC 6455 allows, and
/// sends anything that a test requests.
package final class TestWebSocket: Sendable {
    package let connection: RawConnection
    /// The 101 that opened it.
    package let answer: ReceivedAnswer

    private init(connection: RawConnection, answer: ReceivedAnswer) {
        self.connection = connection
        self.answer = answer
    }

    package enum Outcome: Sendable {
        case open(TestWebSocket)
        case refused(ReceivedAnswer, RawConnection)
    }

    /// Sends the handshake and awaits any answer.
    package static func attempt(_ handshake: Handshake, on connection: RawConnection) async throws -> Outcome {
        try await connection.send(handshake.text)
        let answer = try await connection.answer()
        guard answer.status == 101 else { return .refused(answer, connection) }
        guard answer["upgrade"]?.lowercased() == "websocket", answer["connection"]?.lowercased() == "upgrade",
            answer["sec-websocket-accept"] == handshake.expectedAccept
        else { throw EdgeTestError("a malformed 101: \(answer)") }
        return .open(TestWebSocket(connection: connection, answer: answer))
    }

    package func send(_ frame: WebSocketFrame) async throws {
        try await connection.send(frame.encoded())
    }

    package func send(text: String) async throws {
        try await send(.text(text))
    }

    package func send(binary: [UInt8]) async throws {
        try await send(.binary(binary))
    }

    /// The next frame, of any kind.
    package func nextFrame(within limit: Duration = .seconds(20)) async throws -> WebSocketFrame {
        try await connection.stream.wait(for: "a frame", within: limit) { stream in
            if let frame = try WebSocketFrame.take(from: &stream) { return frame }
            if stream.isAtEnd { throw EdgeTestError("the connection ended without a Close: \(stream)") }
            return nil
        }
    }

    /// Collects the payload of binary messages until there are `count` bytes; answers pings; a Close is an error.
    package func receive(_ count: Int, within limit: Duration = .seconds(20)) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let frame = try await nextFrame(within: limit)
            switch frame.opcode {
            case WebSocketFrame.Opcode.binary, WebSocketFrame.Opcode.continuation: bytes += frame.payload
            case WebSocketFrame.Opcode.ping: try await send(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload))
            case WebSocketFrame.Opcode.pong: continue
            default: throw EdgeTestError("\(bytes.count) of \(count) bytes, then \(frame)")
            }
        }
        guard bytes.count == count else { throw EdgeTestError("\(bytes.count) bytes instead of \(count)") }
        return bytes
    }

    package func receiveText(_ count: Int) async throws -> String {
        String(decoding: try await receive(count), as: UTF8.self)
    }

    /// Reads until the server's Close; returns it with everything before it.
    package func receiveToClose(
        within limit: Duration = .seconds(20)
    ) async throws -> (payload: [UInt8], close: CloseFrame) {
        var bytes: [UInt8] = []
        while true {
            let frame = try await nextFrame(within: limit)
            switch frame.opcode {
            case WebSocketFrame.Opcode.binary, WebSocketFrame.Opcode.continuation: bytes += frame.payload
            case WebSocketFrame.Opcode.close: return (bytes, try CloseFrame(frame))
            default: continue
            }
        }
    }

    /// Reads until the server's Close, answers it, and awaits the end of the connection; no data may follow the Close.
    package func closedByServer(within limit: Duration = .seconds(20)) async throws -> CloseFrame {
        let (_, close) = try await receiveToClose(within: limit)
        connection.post(WebSocketFrame.close(close.code.map { UInt16($0) }).encoded())
        let rest = try await connection.receiveToEnd(within: limit)
        guard rest.isEmpty else { throw EdgeTestError("\(rest.count) bytes after the Close") }
        return close
    }

    /// Closes from our side and awaits the answering Close and the end.
    @discardableResult
    package func close(_ code: UInt16 = 1000, within limit: Duration = .seconds(20)) async throws -> CloseFrame {
        try await send(.close(code))
        let (_, close) = try await receiveToClose(within: limit)
        _ = try await connection.receiveToEnd(within: limit)
        return close
    }
}
