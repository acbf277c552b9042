import NIOCore
import NIOWebSocket
import PortcullisClient

/// The client's end of a WebSocket (RFC 6455) behind SwiftNIO's frame decoder: joins fragments, answers pings and Close
/// frames, and stops reading while too much waits. Confined to its event loop; other threads use the ``SocketInbox``
/// and events.
final class SocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// What other threads ask for.
    enum Request {
        case read
        case close(code: UInt16, reason: String)
    }

    /// What a frame counts besides its payload, so that empty fragments end, too.
    private static let frameCost = 64
    /// After our Close frame the server has this long for its own.
    private static let closeTimeout = TimeAmount.seconds(1)

    let inbox: SocketInbox
    private let maximumBytes: Int
    private var fragments: [UInt8] = []
    private var opcode: WebSocketOpcode?
    private var cost = 0
    private var waitsForRead = false
    private var hasClosed = false
    /// The latest ping that isn't answered yet, because the server doesn't read.
    private var owedPong: ByteBuffer?

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
        inbox = SocketInbox()
    }

    // MARK: Reading

    func read(context: ChannelHandlerContext) {
        if inbox.isFull { waitsForRead = true } else { context.read() }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event as? Request {
        case .read:
            guard waitsForRead else { break }
            waitsForRead = false
            context.read()
        case .close(let code, let reason): close(code, reason, context)
        case nil: return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3, frame.maskKey == nil else {
            return violated("reserved bits", context)
        }
        switch frame.opcode {
        case .text, .binary, .continuation: collect(frame, context)
        case .ping: answer(frame, context)
        case .pong: inbox.pong(Array(frame.unmaskedData.readableBytesView))
        case .connectionClose: closed(frame, context)
        default: violated("opcode", context)
        }
    }

    private func collect(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        guard (frame.opcode == .continuation) == (opcode != nil) else { return violated("fragments", context) }
        let payload = frame.unmaskedData.readableBytesView
        cost += payload.count + Self.frameCost
        guard fragments.count + payload.count <= maximumBytes, cost <= 2 * maximumBytes + Self.frameCost else {
            inbox.end(.violated(.bodyTooLarge))
            return close(1009, "", context)
        }
        let kind = opcode ?? frame.opcode
        guard frame.fin else {
            fragments += payload
            opcode = kind
            return
        }
        let message = fragments.isEmpty ? Array(payload) : fragments + payload
        (fragments, opcode, cost) = ([], nil, 0)
        guard kind == .binary || String(decoding: message, as: UTF8.self).utf8.elementsEqual(message) else {
            return violated("text is not UTF-8", context)
        }
        inbox.push(kind == .text ? .text(message) : .binary(message))
    }

    /// While the server doesn't read, only the latest of its pings is answered (RFC 6455 section 5.5.3).
    private func answer(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        owedPong = frame.unmaskedData
        if context.channel.isWritable { payPong(context) }
    }

    private func payPong(_ context: ChannelHandlerContext) {
        guard let pong = owedPong, !hasClosed else { return }
        owedPong = nil
        write(.pong, pong, context)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { payPong(context) }
        context.fireChannelWritabilityChanged()
    }

    // MARK: Ends

    private func closed(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        var payload = frame.unmaskedData
        let code = payload.readInteger(as: UInt16.self) ?? 1005
        inbox.end(.closed(code: code, reason: String(decoding: payload.readableBytesView, as: UTF8.self)))
        if !hasClosed {
            hasClosed = true
            write(.connectionClose, code == 1005 ? ByteBuffer() : ByteBuffer(integer: code), context)
        }
        // The server closes TCP first (RFC 6455 section 7.1.1), if it does.
        closeSoon(context)
    }

    private func violated(_ what: String, _ context: ChannelHandlerContext) {
        inbox.end(.violated(.webSocket(what)))
        close(1002, "", context)
    }

    private func close(_ code: UInt16, _ reason: String, _ context: ChannelHandlerContext) {
        guard !hasClosed else { return }
        hasClosed = true
        var payload = ByteBuffer(integer: code)
        payload.writeBytes(reason.utf8.prefix(123))
        write(.connectionClose, payload, context)
        closeSoon(context)
    }

    private func closeSoon(_ context: ChannelHandlerContext) {
        let channel = context.channel
        context.eventLoop.scheduleTask(in: Self.closeTimeout) { channel.close(promise: nil) }
        // The Close frame of the server is awaited, whatever waits for the app.
        context.read()
    }

    private func write(_ opcode: WebSocketOpcode, _ payload: ByteBuffer, _ context: ChannelHandlerContext) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: payload)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? NIOWebSocketError {
            inbox.end(.violated(error == .invalidFrameLength ? .bodyTooLarge : .webSocket("frame")))
            return close(1002, "", context)
        }
        inbox.end(.lost(.connectionLost))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end(.lost(.connectionLost))
        context.fireChannelInactive()
    }
}
