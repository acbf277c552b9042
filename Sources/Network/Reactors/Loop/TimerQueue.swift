import CLibuv

/// The object that a timer calls.
package protocol TimerTarget: AnyObject {
    /// On the reactor's thread, once for each arming.
    func timerFired(now: UInt64)
}

/// One movable deadline. It is armed, moved and cancelled on the reactor's thread.
///
/// Moving a deadline later is free: the queue checks `deadline` when the earlier time comes.
///
/// An armed timer retains its target until it fires or is cancelled, so an object that arms a timer must cancel it when
/// it ends. (A weak reference would slow down every use of the target: Swift then counts all references to it in a side
/// table.)
package final class ReactorTimer {
    private unowned let queue: TimerQueue
    /// Nanoseconds of the reactor's clock. Valid while armed.
    fileprivate var deadline: UInt64 = 0
    /// When the queue checks this timer: not later than `deadline`, unless that had passed. Valid while armed. It is
    /// stored here too, so that moving the deadline later needs no lookup.
    fileprivate var lookedAt: UInt64 = 0
    /// Its index in the queue's heap; nil while not armed. Only four bytes, because each session has timers.
    fileprivate var place: Int32?

    package init(on reactor: Reactor) {
        queue = reactor.timers
    }

    /// - Parameter target: must be the same object for as long as the timer is armed.
    package func arm(at deadline: UInt64, calling target: any TimerTarget) {
        self.deadline = deadline
        if place == nil || deadline < lookedAt { queue.arm(self, calling: target) }
    }

    /// The queue releases the timer and its target at once.
    package func cancel() {
        // Otherwise the queue isn't accessed: it may be gone.
        if let place { queue.remove(at: Int(place)) }
    }
}

/// All deadlines of a reactor, as a binary heap with a single `uv_timer`.
final class TimerQueue {
    private struct Entry {
        /// Not later than the timer's deadline, unless that had passed when it was armed.
        var time: UInt64
        let timer: ReactorTimer
        let target: any TimerTarget
    }

    private unowned let reactor: Reactor
    private let handle = allocateHandle(uv_timer_t.self)
    private var heap: [Entry] = []
    private var scheduled: UInt64?
    /// While timers are served: the time by which they were due, and that of the one being called.
    private var serving: (until: UInt64, time: UInt64)?
    private var isOverdue = false
    private var isClosed = false

    init(reactor: Reactor) {
        self.reactor = reactor
        checkUV(uv_timer_init(reactor.loop, handle), "uv_timer_init")
        // Unretained: the reactor owns both and closes the handle.
        handle.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    }

    /// Afterwards no timer fires, and arming one does nothing.
    func close() {
        isClosed = true
        for entry in heap { entry.timer.place = nil }
        heap.removeAll()
        closeHandle(handle)
    }

    fileprivate func arm(_ timer: ReactorTimer, calling target: any TimerTarget) {
        guard !isClosed else { return }
        // A target that always arms its timer for the past would be served endlessly: without progress it waits for the
        // next turn.
        let isStuck = serving.map { timer.deadline <= $0.time } ?? false
        let time = isStuck ? serving!.until + 1 : timer.deadline
        if let place = timer.place.map(Int.init) {
            guard time < heap[place].time else { return }
            heap[place].time = time
            timer.lookedAt = time
            siftUp(place)
        } else {
            timer.lookedAt = time
            heap.append(Entry(time: time, timer: timer, target: target))
            timer.place = Int32(heap.count - 1)
            siftUp(heap.count - 1)
        }
        // Otherwise `fire` does, when it has served all.
        if serving == nil { schedule() }
    }

    fileprivate func remove(at place: Int) {
        heap.swapAt(place, heap.count - 1)
        heap.removeLast().timer.place = nil
        guard place < heap.count else { return }
        heap[place].timer.place = Int32(place)
        siftUp(place)
        siftDown(place)
    }

    private func schedule() {
        guard let next = heap.first?.time, scheduled == nil || next < scheduled! else { return }
        uv_update_time(reactor.loop)
        let now = reactor.now
        // libuv would fire a timer without a delay before it polls: see `fireOverdue`.
        guard next > now || serving == nil else {
            isOverdue = true
            return reactor.wakeForNextTurn()
        }
        scheduled = next
        // libuv counts in milliseconds: round up, so that the timer never fires before its deadline.
        let delay = next > now ? (next - now + 999_999) / 1_000_000 : 0
        uv_timer_start(
            handle, { Unmanaged<TimerQueue>.fromOpaque($0!.pointee.data).takeUnretainedValue().fire() }, delay, 0)
    }

    /// Serves the timers that became due while others were served. Called at the end of a turn: so however long serving
    /// them takes, the sockets are polled in between, and a target that always arms its timer again stops nothing.
    func fireOverdue() {
        guard isOverdue, !isClosed else { return }
        isOverdue = false
        fire()
    }

    private func fire() {
        scheduled = nil
        let now = reactor.now
        serving = (now, 0)
        while let first = heap.first, first.time <= now {
            if first.timer.deadline > first.time {
                // The deadline was moved later: the timer is reordered, even if its new deadline has passed too.
                first.timer.lookedAt = first.timer.deadline
                heap[0].time = first.timer.deadline
                siftDown(0)
            } else {
                remove(at: 0)
                serving?.time = first.time
                first.target.timerFired(now: now)
            }
        }
        schedule()
        serving = nil
    }

    // MARK: Heap

    private func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].time < heap[parent].time else { return }
            swap(child, parent)
            child = parent
        }
    }

    private func siftDown(_ start: Int) {
        var parent = start
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].time < heap[smallest].time { smallest = child }
            }
            guard smallest != parent else { return }
            swap(parent, smallest)
            parent = smallest
        }
    }

    private func swap(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        heap[one].timer.place = Int32(one)
        heap[other].timer.place = Int32(other)
    }
}
