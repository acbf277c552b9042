import NIOCore
import NIOPosix

/// A relay in front of several ports, as a load balancer: each new connection goes to the next one that accepts it.
package final class RotatingRelay: Sendable {
    package let port: Int
    private let listener: any Channel
    private let open: Awaited<[any Channel]>

    private init(listener: any Channel, port: Int, open: Awaited<[any Channel]>) {
        (self.listener, self.port, self.open) = (listener, port, open)
    }

    deinit { listener.close(promise: nil) }

    package static func start(to targets: [Int]) async throws -> RotatingRelay {
        let (next, open) = (Awaited(0), Awaited<[any Channel]>([]))
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { inner in
                let first = next.update { number -> Int in
                    number += 1
                    return number
                }
                let order = targets.indices.map { targets[(first + $0) % targets.count] }
                return dial(order[...], for: inner).flatMapThrowing { outer in
                    try inner.pipeline.syncOperations.addHandler(Forwarder(to: outer))
                    for end in [inner, outer] { end.setOption(.autoRead, value: true).whenComplete { _ in } }
                    open.update { $0 = $0.filter(\.isActive) + [inner] }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the relay has no port") }
        return RotatingRelay(listener: listener, port: port, open: open)
    }

    private static func dial(_ ports: ArraySlice<Int>, for inner: any Channel) -> EventLoopFuture<any Channel> {
        guard let port = ports.first else {
            return inner.eventLoop.makeFailedFuture(EdgeTestError("no target accepts"))
        }
        return ClientBootstrap(group: inner.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { outer in
                outer.eventLoop.makeCompletedFuture {
                    try outer.pipeline.syncOperations.addHandler(Forwarder(to: inner))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .flatMapError { _ in dial(ports.dropFirst(), for: inner) }
    }

    /// Ends all current connections.
    package func cut() async {
        for channel in open.current { try? await channel.close() }
    }
}
