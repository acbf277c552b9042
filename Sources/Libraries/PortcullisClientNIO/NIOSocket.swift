import NIOCore
import NIOWebSocket
import PortcullisClient

/// An open WebSocket, for tasks. The connection is closed with its last reference.
final class NIOSocket: WebSocketChannel {
    private let channel: any Channel
    private let inbox: SocketInbox

    init(_ channel: any Channel, _ inbox: SocketInbox) { (self.channel, self.inbox) = (channel, inbox) }

    deinit { channel.close(promise: nil) }

    func receive() async throws -> WebSocketMessage {
        let (message, later, resumesReading) = try inbox.receive()
        if resumesReading { channel.triggerUserOutboundEvent(SocketHandler.Request.read, promise: nil) }
        if let message { return message }
        return try await later.value()
    }

    func send(_ message: WebSocketMessage) async throws {
        switch message {
        case .text(let bytes): try await write(.text, ByteBuffer(bytes: bytes))
        case .binary(let bytes): try await write(.binary, ByteBuffer(bytes: bytes))
        }
    }

    func ping() async throws {
        let (payload, outcome) = try inbox.beginPing()
        try await write(.ping, ByteBuffer(integer: payload))
        try await outcome.value()
    }

    private func write(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) async throws {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: payload)
        do { try await channel.writeAndFlush(frame) } catch { throw WebSocketEnd.lost(.connectionLost) }
    }

    func close(code: UInt16, reason: String) {
        channel.triggerUserOutboundEvent(SocketHandler.Request.close(code: code, reason: reason), promise: nil)
    }
}
