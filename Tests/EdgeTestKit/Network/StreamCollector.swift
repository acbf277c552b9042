import NIOCore

/// The last handler of a channel: it adds everything received to an `Awaited` stream. Confined to the channel's event
/// loop.
final class StreamCollector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let stream: Awaited<ByteStream>

    init(_ stream: Awaited<ByteStream>) {
        self.stream = stream
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data).readableBytesView
        stream.update { $0.append(bytes) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(.inputClosed) = event as? ChannelEvent { stream.update { $0.isAtEnd = true } }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let text = String(describing: error)
        stream.update { stream in
            stream.failure = stream.failure ?? text
        }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stream.update { $0.isAtEnd = true }
    }
}
