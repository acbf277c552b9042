import EdgeTestKit
import NIOCore
import NIOPosix
import Synchronization

/// A relay to a port that ends each connection after some bytes, in the middle of whatever they are: as networks do.
final class CuttingRelay: Sendable {
    let port: Int
    private let listener: any Channel
    private let plan: CutPlan

    private init(listener: any Channel, port: Int, plan: CutPlan) {
        (self.listener, self.port, self.plan) = (listener, port, plan)
    }

    deinit { listener.close(promise: nil) }

    /// How many connections were cut.
    var cuts: Int { plan.cuts.current }

    func cuts(_ count: Int) async throws {
        try await plan.cuts.wait(for: "\(count) cuts", within: .seconds(240)) { $0 >= count ? () : nil }
    }

    /// From now on connections live.
    func stop() { plan.isOver.withLock { $0 = true } }

    /// - Parameter bytes: of both directions together, for each connection.
    static func start(to target: Int, seed: UInt64, after bytes: ClosedRange<Int>) async throws -> CuttingRelay {
        let plan = CutPlan(seed: seed, range: bytes)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 512)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { inner in
                let budget = NIOLoopBoundBox(plan.next(), eventLoop: inner.eventLoop)
                return ClientBootstrap(group: inner.eventLoop)
                    .channelOption(.autoRead, value: false)
                    .channelInitializer { outer in
                        outer.eventLoop.makeCompletedFuture {
                            try outer.pipeline.syncOperations.addHandler(Cutter(to: inner, budget, plan))
                        }
                    }
                    .connect(host: "127.0.0.1", port: target)
                    .flatMapThrowing { outer in
                        try inner.pipeline.syncOperations.addHandler(Cutter(to: outer, budget, plan))
                        for end in [inner, outer] { end.setOption(.autoRead, value: true).whenComplete { _ in } }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        guard let port = listener.localAddress?.port else { throw EdgeTestError("the relay has no port") }
        return CuttingRelay(listener: listener, port: port, plan: plan)
    }
}

private final class CutPlan: Sendable {
    let cuts = Awaited(0)
    let isOver = Mutex(false)
    private let random: Mutex<SeededGenerator>
    private let range: ClosedRange<Int>

    init(seed: UInt64, range: ClosedRange<Int>) {
        random = Mutex(SeededGenerator(seed: seed))
        self.range = range
    }

    /// Of the next connection.
    func next() -> Int {
        isOver.withLock { $0 } ? .max : random.withLock { Int.random(in: range, using: &$0) }
    }
}

/// Forwards to the other end until the budget of the connection is used up. Confined to the event loop of both ends.
private final class Cutter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let budget: NIOLoopBoundBox<Int>
    private let plan: CutPlan

    init(to other: any Channel, _ budget: NIOLoopBoundBox<Int>, _ plan: CutPlan) {
        (self.other, self.budget, self.plan) = (other, budget, plan)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        guard budget.value > 0 else { return }
        let part = bytes.readSlice(length: min(bytes.readableBytes, budget.value)) ?? ByteBuffer()
        budget.value -= part.readableBytes
        let written = other.writeAndFlush(part)
        guard budget.value == 0 else { return }
        plan.cuts.update { $0 += 1 }
        let (one, other) = (context.channel, other)
        written.whenComplete { _ in
            for end in [one, other] { end.close(promise: nil) }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
