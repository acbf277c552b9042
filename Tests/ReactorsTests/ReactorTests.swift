import Dispatch
import Glibc
import Logging
import Synchronization
import Testing

@testable import Reactors

/// The only entry to a reactor's thread, and the reactor's end.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct ReactorTests {
    @Test func `jobs run in the order in which they were submitted`() async {
        let log = Log<Int>()
        for index in 0..<10_000 {
            TestReactor.shared.submit { log.entries.append(index) }
        }
        #expect(await TestReactor.shared.run { log.entries } == Array(0..<10_000))
    }

    @Test func `jobs of many threads all run, and those of one thread in order`() async {
        let log = Log<(thread: Int, index: Int)>()
        await withTaskGroup { group in
            for thread in 0..<8 {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        startThread {
                            for index in 0..<2_000 {
                                TestReactor.shared.submit { log.entries.append((thread, index)) }
                            }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        let orders = await TestReactor.shared.run {
            (0..<8).map { thread in log.entries.filter { $0.thread == thread }.map(\.index) }
        }
        #expect(orders == Array(repeating: Array(0..<2_000), count: 8))
    }

    @Test func `a job that submits another one doesn't wait for it`() async {
        let log = Log<String>()
        let order = await withCheckedContinuation { continuation in
            TestReactor.shared.submit {
                TestReactor.shared.submit {
                    log.entries.append("second")
                    continuation.resume(returning: log.entries)
                }
                log.entries.append("first")
            }
        }
        #expect(order == ["first", "second"])
    }

    @Test func `a reactor may be used on its own thread`() async {
        await TestReactor.shared.run { TestReactor.shared.preconditionOnThread() }
    }

    @Test func `a reactor traps on a foreign thread`() async {
        await #expect(processExitsWith: .failure) {
            TestReactor.shared.preconditionOnThread()
        }
    }

    @Test func `a pinned value traps away from its reactor`() async {
        let pinned = Pinned(5, to: TestReactor.shared)
        #expect(await TestReactor.shared.run { pinned.value } == 5)
        await #expect(processExitsWith: .failure) {
            _ = Pinned(5, to: TestReactor.shared).value
        }
    }

    @Test func `a stopped reactor ends its thread, and drops the jobs that come later`() async {
        await endOfReactor { reactor in
            reactor.stop()
            reactor.submit {}
        }
    }

    /// In a process of its own: a descriptor closed by mistake could be any other test's.
    @Test func `a reactor that stops closes no descriptor of another thread`() async {
        await #expect(processExitsWith: .success) {
            let openers = DescriptorOpeners(threads: 3)
            for _ in 0..<100 { await endOfReactor { $0.stop() } }
            guard openers.lost() == 0 else { exit(EXIT_FAILURE) }
        }
    }

    @Test func `a stopped reactor drops its open connections and their timers`() async throws {
        let server = try PlainServer()
        let (events, sink) = AsyncStream.makeStream(of: TCPError?.self)
        async let peer = server.serve { $0.readAll() }
        await endOfReactor { reactor in
            let handler = StoppingHandler(reactor, sink)
            handler.connection = .dial(
                host: "127.0.0.1", port: server.port, options: .patient, on: reactor, handler: handler)
        }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == .some(nil))
        #expect(await peer == [])
        server.close()
    }
}

/// Threads that open and close descriptors without pause, and count those that somebody else closed.
private final class DescriptorOpeners: Sendable {
    private let isEnding = Atomic(false)
    private let lostCount = Atomic(0)
    private let ended = DispatchGroup()

    init(threads: Int) {
        for _ in 0..<threads {
            ended.enter()
            startThread { [self] in
                while !isEnding.load(ordering: .relaxed) { openAndClose() }
                ended.leave()
            }
        }
    }

    /// Ends the threads.
    ///
    /// - Returns: the number of descriptors that were closed by somebody else.
    func lost() -> Int {
        isEnding.store(true, ordering: .relaxed)
        ended.wait()
        return lostCount.load(ordering: .relaxed)
    }

    private func openAndClose() {
        let descriptors = (0..<16).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        sched_yield()
        for descriptor in descriptors where close(descriptor) != 0 { lostCount.add(1, ordering: .relaxed) }
    }
}

/// Starts a reactor, runs `body` on its thread, and returns when the reactor is deallocated: it lives as long as its
/// thread.
private func endOfReactor(_ body: @escaping @Sendable (Reactor) -> Void) async {
    await withCheckedContinuation { continuation in
        startThread {
            let reactor = TestReactor.started()
            reactor.submit {
                let witness = Witness { continuation.resume() }
                reactor.configureTLS = { _ in withExtendedLifetime(witness) {} }
                body(reactor)
            }
        }
    }
}

/// Stops its reactor as soon as it is connected, then arms a timer.
private final class StoppingHandler: TCPHandler, TimerTarget {
    private let reactor: Reactor
    private let sink: AsyncStream<TCPError?>.Continuation
    private lazy var timer = ReactorTimer(on: reactor)
    var connection: TCPConnection?

    init(_ reactor: Reactor, _ sink: AsyncStream<TCPError?>.Continuation) {
        self.reactor = reactor
        self.sink = sink
    }

    func tcpConnected() { reactor.stop() }
    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {}
    func tcpPeerFinished() {}
    func tcpWrote() {}
    func timerFired(now: UInt64) {}

    func tcpClosed(error: TCPError?) {
        connection = nil
        timer.arm(at: 0, calling: self)
        sink.yield(error)
    }
}

/// Reports its deinitialisation.
private final class Witness {
    private let gone: () -> Void

    init(_ gone: @escaping () -> Void) { self.gone = gone }

    deinit { gone() }
}

/// - Note: `@unchecked Sendable` because it is used only on the reactor's thread.
private final class Log<Entry: Sendable>: @unchecked Sendable {
    var entries: [Entry] = []
}
