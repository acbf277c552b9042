import Crypto
import Foundation
import NIOCore
import NIOPosix
import NIOWebSocket

/// A minimal WebSocket echo server with NIO's own frame codec: it tests the kit's client before the client tests the
/// gateway.
package final class EchoWebSocketServer: Sendable {
    package let port: Int
    private let listener: any Channel

    private init(listener: any Channel, port: Int) {
        self.listener = listener
        self.port = port
    }

    deinit {
        listener.close(promise: nil)
    }

    package static func start() async throws -> EchoWebSocketServer {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(EchoHandshake())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the echo server has no port") }
        return EchoWebSocketServer(listener: listener, port: port)
    }
}

/// Answers the upgrade request, then is replaced by the frame handlers. Confined to its event loop.
private final class EchoHandshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var head = ""

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        head += String(buffer: unwrapInboundIn(data))
        guard head.hasSuffix("\r\n\r\n") else { return }
        let key = head.components(separatedBy: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19)
        let digest = Insecure.SHA1.hash(data: Data(((key ?? "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r\n\r\n"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
        do {
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(WebSocketFrameEncoder())
            try pipeline.addHandler(ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1 << 20)))
            try pipeline.addHandler(FrameEcho())
            pipeline.removeHandler(self, promise: nil)
        } catch {
            context.close(promise: nil)
        }
    }
}

extension EchoHandshake: RemovableChannelHandler {}

/// Returns every message as binary, a ping as a pong, a Close as a Close. Confined to its event loop.
private final class FrameEcho: ChannelInboundHandler {
    typealias InboundIn = NIOWebSocket.WebSocketFrame
    typealias OutboundOut = NIOWebSocket.WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let opcode: WebSocketOpcode
        switch frame.opcode {
        case .ping: opcode = .pong
        case .connectionClose: opcode = .connectionClose
        case .continuation: opcode = .continuation
        default: opcode = .binary
        }
        let answer = NIOWebSocket.WebSocketFrame(fin: frame.fin, opcode: opcode, data: frame.unmaskedData)
        let channel = context.channel
        let written = context.writeAndFlush(wrapOutboundOut(answer))
        if opcode == .connectionClose { written.whenComplete { _ in channel.close(promise: nil) } }
    }
}
