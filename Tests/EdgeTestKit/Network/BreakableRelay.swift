import NIOCore
import NIOPosix
import Synchronization

/// A relay to a port that a test can break: its connections end on both sides without notice, as when a network is
/// lost.
package final class BreakableRelay: Sendable {
    package let port: Int
    private let listener: any Channel
    private let open: OpenChannels

    private init(listener: any Channel, port: Int, open: OpenChannels) {
        self.listener = listener
        self.port = port
        self.open = open
    }

    deinit {
        listener.close(promise: nil)
    }

    package static func start(to target: Int) async throws -> BreakableRelay {
        let open = OpenChannels()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { inner in
                ClientBootstrap(group: inner.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .channelInitializer { outer in
                        outer.eventLoop.makeCompletedFuture {
                            try outer.pipeline.syncOperations.addHandler(Forwarder(to: inner))
                        }
                    }
                    .connect(host: "127.0.0.1", port: target)
                    .flatMapThrowing { outer in
                        try inner.pipeline.syncOperations.addHandler(Forwarder(to: outer))
                        for end in [inner, outer] { end.setOption(.autoRead, value: true).whenComplete { _ in } }
                        if !open.insert(inner) { inner.close(promise: nil) }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the relay has no port") }
        return BreakableRelay(listener: listener, port: port, open: open)
    }

    /// Ends all current connections, and each new one until ``mend()``.
    package func cut() async {
        for channel in open.cut() { try? await channel.close() }
    }

    package func mend() { open.mend() }

    /// From now on nothing that clients send over the current connections arrives, but none of them ends. New
    /// connections work.
    package func silence() async throws {
        for channel in open.current where channel.isActive {
            try await channel.setOption(.autoRead, value: false).get()
        }
    }
}

private final class OpenChannels: Sendable {
    /// Nil while the relay is cut.
    private let channels = Mutex<[any Channel]?>([])

    /// - Returns: whether the relay is open.
    func insert(_ channel: any Channel) -> Bool {
        channels.withLock { channels in
            channels?.append(channel)
            return channels != nil
        }
    }

    func cut() -> [any Channel] {
        channels.withLock { channels in
            defer { channels = nil }
            return channels ?? []
        }
    }

    var current: [any Channel] { channels.withLock { $0 ?? [] } }

    func mend() { channels.withLock { $0 = $0 ?? [] } }
}
