import NIOCore
import NIOPosix
import NIOSSL

/// A tunnel from plain text to the gateway's TLS, for a client that can't be told which CA to trust.
///
/// Foundation's URLSession on Linux trusts only the system's bundle, so the tunnel verifies the gateway in its place.
package final class TLSTunnel: Sendable {
    package let port: Int
    private let listener: any Channel

    private init(listener: any Channel, port: Int) {
        self.listener = listener
        self.port = port
    }

    deinit {
        listener.close(promise: nil)
    }

    /// - Parameter tls: must name the CA to verify the gateway against.
    package static func start(to gatewayPort: Int, tls: TLSChoice) async throws -> TLSTunnel {
        let context = try tls.context()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { inner in
                ClientBootstrap(group: inner.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .channelInitializer { outer in
                        outer.eventLoop.makeCompletedFuture {
                            let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                            try outer.pipeline.syncOperations.addHandlers(tls, Forwarder(to: inner))
                        }
                    }
                    .connect(host: "127.0.0.1", port: gatewayPort)
                    .flatMapThrowing { outer in
                        try inner.pipeline.syncOperations.addHandler(Forwarder(to: outer))
                        for end in [inner, outer] { end.setOption(.autoRead, value: true).whenComplete { _ in } }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the tunnel has no port") }
        return TLSTunnel(listener: listener, port: port)
    }
}

/// Passes all bytes, and the end of the connection, to the other end. Both ends share an event loop.
final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let partner: any Channel

    init(to partner: any Channel) {
        self.partner = partner
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        partner.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        partner.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
