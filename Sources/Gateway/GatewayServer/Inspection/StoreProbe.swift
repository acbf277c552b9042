import KeyStore
import Logging
import Observability
import Reactors
import Synchronization

/// Whether the key store can be written: tried regularly on the store's own thread, by a commit that changes nothing.
/// Any thread may read.
final class StoreProbe: Sendable {
    static let interval: Duration = .seconds(5)
    /// A trial that hasn't ended by then counts as failed: the disk stalls.
    static let patienceNanoseconds: UInt64 = 10_000_000_000

    private struct State {
        /// Monotonic nanoseconds.
        var begun: UInt64?
        var problem: String?
    }

    private let store: GatewayStore
    private let logger: Logger
    private let state = Mutex(State())

    init(_ store: GatewayStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            await tryOut()
            try? await Task.sleep(for: Self.interval, clock: .continuous)
        }
    }

    func tryOut() async {
        state.withLock { $0.begun = Reactor.monotonicNow }
        do throws(KeyRegistryError) {
            try await store.tryWriting()
            note(nil)
        } catch {
            note("\(error)")
        }
    }

    private func note(_ problem: String?) {
        let old = state.withLock { state in
            let old = state.problem
            state.begun = nil
            state.problem = problem
            return old
        }
        if let problem, old == nil {
            logger.warning("the key store can't be written", metadata: [LogKeys.error: "\(problem)"])
        }
        if problem == nil, old != nil { logger.notice("the key store can be written again") }
    }

    /// - Returns: nil if the store can be written.
    func problem(at now: UInt64 = Reactor.monotonicNow) -> String? {
        state.withLock { state in
            if let begun = state.begun, now > begun, now - begun > Self.patienceNanoseconds {
                return "a trial write has not ended for \((now - begun) / 1_000_000_000) s"
            }
            return state.problem
        }
    }
}
