import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import PrometheusText
import Reactors
import StallTestKit
import Synchronization
import Testing

@testable import GatewayServer

/// What metrics and probes find out about the process.
@Suite struct InspectionTests {
    @Test func `a reactor's delay is that of its last job and while it doesn't answer the time since`() {
        var pulse = Pulse()
        #expect(pulse.current(at: 5) == 0 && pulse.longest(at: 5) == 0)
        let isBegun = pulse.begin(at: 100)
        #expect(isBegun)
        let isSecondBegun = pulse.begin(at: 110)
        #expect(!isSecondBegun, "one job at a time")
        #expect(pulse.current(at: 150) == 50 && pulse.longest(at: 150) == 50)
        pulse.end(at: 170, handshakesWaiting: 3)
        #expect(pulse.current(at: 900) == 70 && pulse.handshakesWaiting == 3)
        _ = pulse.begin(at: 1_000)
        pulse.end(at: 1_001, handshakesWaiting: 0)
        #expect(pulse.current(at: 2_000) == 1 && pulse.longest(at: 2_000) == 70 && pulse.handshakesWaiting == 0)
    }

    @Test func `the longest delay is forgotten after a minute of others`() {
        var pulse = Pulse()
        func beat(_ delay: UInt64) {
            _ = pulse.begin(at: 0)
            pulse.end(at: delay, handshakesWaiting: 0)
        }
        beat(70)
        for _ in 0..<Pulse.kept - 1 { beat(1) }
        #expect(pulse.longest(at: 0) == 70)
        beat(2)
        #expect(pulse.longest(at: 0) == 2 && pulse.current(at: 0) == 2)
    }

    @Test func `a reactor that is busy is noticed and one that isn't is not`() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let pool = try ReactorPool(
            count: 2, census: ConnectionCensus(maximum: 1, maximumPerAddress: 1, handshakes: HandshakeRates()),
            logger: logger)
        defer { pool.stop() }
        let pulse = ReactorPulse(pool.reactors)
        let (busy, free) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        pool.reactors[0].submit {
            busy.signal()
            free.wait()
        }
        await Self.wait(for: busy)
        pulse.beat()
        let later = Reactor.monotonicNow + 5_000_000_000
        // Again and again: on a busy machine an answer may be late.
        while pulse.currentDelays(at: later)[1] > ReactorPulse.readyNanoseconds {
            pulse.beat()
            await Task.yield()
        }
        #expect(pulse.currentDelays(at: later)[0] > ReactorPulse.readyNanoseconds)
        free.signal()
        while pulse.currentDelays(at: later)[0] > ReactorPulse.readyNanoseconds {
            pulse.beat()
            await Task.yield()
        }
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    @Test func `the kernel's figures about this process are plausible`() {
        let observations = ProcessFigures().observations()
        let figures = Dictionary(uniqueKeysWithValues: observations.map { ($0.name, $0.value) })
        #expect(figures.count == 6)
        #expect(figures["process_cpu_seconds_total"] ?? 0 > 0)
        #expect(figures["process_resident_memory_bytes"] ?? 0 > 1_000_000)
        #expect(figures["process_virtual_memory_bytes"] ?? 0 >= figures["process_resident_memory_bytes"] ?? .infinity)
        let start = figures["process_start_time_seconds"] ?? 0
        #expect(start < Date.now.timeIntervalSince1970 + 1 && start > Date.now.timeIntervalSince1970 - 86_400)
        #expect((3...(figures["process_max_fds"] ?? 0)).contains(figures["process_open_fds"] ?? 0))
    }

    @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
    func `a trial write that fails is a problem until one succeeds`() async throws {
        let folder = try TemporaryDirectory()
        var limits = SQLiteKeyRegistry.Limits()
        limits.administrationBusyMilliseconds = 50
        let store = try SQLiteKeyRegistry(path: folder.file("keys.sqlite"), limits: limits)
        let probe = StoreProbe(FileStore(store), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await probe.tryOut()
        #expect(probe.problem() == nil)
        let lock = try await StoreLock.take(store.path)
        await probe.tryOut()
        #expect(probe.problem() == "The key store is busy: it was not free in time.")
        try await lock.release()
        await probe.tryOut()
        #expect(probe.problem() == nil)
    }

    @Test func `the store says what its calls are and how they end`() async throws {
        let folder = try TemporaryDirectory()
        let heard = Mutex<[StoreObserver.Operation]>([])
        let store = try SQLiteKeyRegistry(
            path: folder.file("keys.sqlite"),
            observer: StoreObserver(now: { 0 }) { operation, _, error in
                if error == nil { heard.withLock { $0.append(operation) } }
            })
        heard.withLock { $0 = [] }
        try await store.tryWriting()
        _ = try await store.keys(after: nil, limit: 1)
        try await store.checkpoint()
        #expect(heard.withLock { Set($0) } == [.administer, .read, .checkpoint])
    }
}
