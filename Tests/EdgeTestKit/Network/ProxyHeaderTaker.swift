import NIOCore

/// Removes a PROXY header of version 2 from the start of a connection and passes on the rest. Confined to its event
/// loop.
final class ProxyHeaderTaker: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let header: Awaited<[UInt8]?>
    private var held = ByteBuffer()
    private var isTaken = false

    /// Signature, version and command, family, and the length of the rest.
    private static let fixedBytes = 16

    init(_ header: Awaited<[UInt8]?>) {
        self.header = header
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isTaken else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        held.writeBuffer(&bytes)
        guard let length: UInt16 = held.getInteger(at: held.readerIndex + Self.fixedBytes - 2),
            let taken = held.readBytes(length: Self.fixedBytes + Int(length))
        else { return }
        isTaken = true
        header.update { $0 = taken }
        if held.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(held)) }
    }
}
