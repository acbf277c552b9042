import Dispatch
import Foundation
import Synchronization

/// The queue of `BlockingThreads`, and its threads. The threads retain the queue, not their owner.
///
/// Each item is taken out once, under the lock: either to run, or to be refused.
final class BlockingQueue: Sendable {
    struct Item: Sendable {
        let number: UInt64
        /// Nil for an item that can't be refused.
        let latestStart: ContinuousClock.Instant?
        /// Called once, outside the lock: with nil to do the work, else with the reason why it isn't done.
        let run: @Sendable (BlockingRefusal?) -> Void
    }

    private struct State {
        var waiting: [Item] = []
        var threads = 0
        /// Threads without an item.
        var idle = 0
        var isClosed = false
    }

    private let name: String
    private let maximumThreads: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())
    /// One signal for each item that was added, and one for each thread at the end.
    private let ready = DispatchSemaphore(value: 0)

    init(name: String, maximumThreads: Int, maximumWaiting: Int) {
        // Linux refuses a longer one.
        self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
        self.maximumThreads = maximumThreads
        self.maximumWaiting = maximumWaiting
    }

    var count: Int { state.withLock { $0.waiting.count } }

    /// False when the queue is full.
    func add(_ item: Item) -> Bool { add(item, upTo: maximumWaiting) }

    func addAlways(_ item: Item) { _ = add(item, upTo: .max) }

    private func add(_ item: Item, upTo maximum: Int) -> Bool {
        let outcome = state.withLock { state -> (isAdded: Bool, needsThread: Bool) in
            // Items that a free thread takes at once don't wait.
            let free = state.idle + maximumThreads - state.threads
            guard maximum == .max || state.waiting.count < maximum + free else { return (false, false) }
            state.waiting.append(item)
            guard state.waiting.count > state.idle, state.threads < maximumThreads else { return (true, false) }
            state.threads += 1
            state.idle += 1
            return (true, true)
        }
        guard outcome.isAdded else { return false }
        if outcome.needsThread { startThread() }
        ready.signal()
        return true
    }

    /// Refuses an item that still waits; otherwise does nothing.
    func expire(_ number: UInt64) {
        let item = state.withLock { state -> Item? in
            guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return state.waiting.remove(at: index)
        }
        item?.run(.late)
    }

    /// The threads end when nothing waits any more.
    func close() {
        let threads = state.withLock { state in
            state.isClosed = true
            return state.threads
        }
        for _ in 0..<threads { ready.signal() }
    }

    private func startThread() {
        // Foundation can't name a thread before `start` has returned.
        let started = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            started.wait()
            Thread.current.name = name
            work()
        }
        thread.start()
        started.signal()
    }

    /// The body of a thread. It begins idle.
    private func work() {
        while true {
            ready.wait()
            let (item, isOver) = state.withLock { state -> (Item?, Bool) in
                guard !state.waiting.isEmpty else { return (nil, state.isClosed) }
                state.idle -= 1
                return (state.waiting.removeFirst(), false)
            }
            if isOver { return }
            // The item of this signal may have been refused meanwhile.
            guard let item else { continue }
            let isLate = item.latestStart.map { $0 < .now } ?? false
            item.run(isLate ? .late : nil)
            state.withLock { $0.idle += 1 }
        }
    }
}
