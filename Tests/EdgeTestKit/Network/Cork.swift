import NIOCore

/// A handler between TLS and the socket: after ``insert()`` it holds TLS's output, and ``remove(from:)`` sends that in
/// one piece.
///
/// On the channel's event loop only.
final class Cork: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var held: ByteBuffer?

    func insert() {
        held = ByteBuffer()
    }

    func remove(from channel: any Channel) {
        guard let bytes = held else { return }
        held = nil
        guard let context = try? channel.pipeline.syncOperations.context(handler: self) else { return }
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard held != nil else { return context.write(data, promise: promise) }
        held?.writeImmutableBuffer(unwrapOutboundIn(data))
        promise?.succeed()
    }

    func flush(context: ChannelHandlerContext) {
        if held == nil { context.flush() }
    }
}
