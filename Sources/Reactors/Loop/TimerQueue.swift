import CLibuv

/// Something that wants to be called at a time.
package protocol TimerTarget: AnyObject {
    /// On the reactor's thread, once for each arming.
    func timerFired(now: UInt64)
}

/// One deadline that can be moved: armed, moved and cancelled on the reactor's thread.
///
/// Moving a deadline later costs nothing: the queue looks at `deadline` when the earlier entry comes up.
package final class ReactorTimer {
    private unowned let queue: TimerQueue
    fileprivate private(set) weak var target: (any TimerTarget)?
    /// Nanoseconds of the reactor's clock; nil while not armed.
    fileprivate var deadline: UInt64?
    /// The earliest entry for this timer in the queue; nil when there is none.
    fileprivate var queued: UInt64?
    /// The next one behind it: so that a timer that fires between two looks at a far deadline doesn't leave an entry for each.
    fileprivate var queuedLater: UInt64?

    package init(on reactor: Reactor, target: any TimerTarget) {
        queue = reactor.timers
        self.target = target
    }

    package func arm(at deadline: UInt64) {
        self.deadline = deadline
        if queued == nil || deadline < queued! {
            queuedLater = queued ?? queuedLater
            queued = deadline
            queue.insert(self, at: deadline)
        }
    }

    package func cancel() {
        deadline = nil
    }

    /// - Returns: whether the entry at `time` is the one that counts, and stands at the deadline: one that was moved later takes its
    ///   new place in the order, even if it is overdue there too.
    fileprivate func take(entry time: UInt64) -> Bool {
        guard queued == time else { return false }
        queued = queuedLater
        queuedLater = nil
        guard let due = deadline else { return false }
        if due > time {
            if queued == nil || due < queued! {
                queuedLater = queued
                queued = due
                queue.insert(self, at: due)
            }
            return false
        }
        deadline = nil
        return true
    }
}

/// All deadlines of a reactor, as a binary heap over a single `uv_timer`.
final class TimerQueue {
    private struct Entry {
        let time: UInt64
        let timer: ReactorTimer
    }

    private unowned let reactor: Reactor
    private let handle = allocateHandle(uv_timer_t.self)
    private var heap: [Entry] = []
    private var scheduled: UInt64?
    private var isClosed = false

    init(reactor: Reactor) {
        self.reactor = reactor
        checkUV(uv_timer_init(reactor.loop, handle), "uv_timer_init")
        // Unretained: the reactor owns both, and closes the handle.
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    /// No timer fires any more; arming one does nothing.
    func close() {
        isClosed = true
        heap.removeAll()
        closeHandle(handle)
    }

    func insert(_ timer: ReactorTimer, at time: UInt64) {
        guard !isClosed else { return }
        heap.append(Entry(time: time, timer: timer))
        siftUp(heap.count - 1)
        schedule()
    }

    private func schedule() {
        guard let next = heap.first?.time, scheduled == nil || next < scheduled! else { return }
        scheduled = next
        uv_update_time(reactor.loop)
        let now = reactor.now
        // libuv counts in milliseconds: round up, so that the timer never fires before its deadline.
        let delay = next > now ? (next - now + 999_999) / 1_000_000 : 0
        uv_timer_start(
            handle, { Unmanaged<TimerQueue>.fromOpaque($0!.pointee.data).takeUnretainedValue().fire() }, delay, 0)
    }

    private func fire() {
        scheduled = nil
        let now = reactor.now
        while let first = heap.first, first.time <= now {
            removeFirst()
            if first.timer.take(entry: first.time) {
                first.timer.target?.timerFired(now: now)
            }
        }
        schedule()
    }

    // MARK: Heap

    private func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].time < heap[parent].time else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].time < heap[smallest].time { smallest = child }
            }
            guard smallest != parent else { return }
            heap.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
