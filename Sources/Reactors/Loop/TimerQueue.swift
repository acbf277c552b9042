import CLibuv

/// Something that wants to be called at a time.
package protocol TimerTarget: AnyObject {
    /// On the reactor's thread, once for each arming.
    func timerFired(now: UInt64)
}

/// One deadline that can be moved: armed, moved and cancelled on the reactor's thread.
///
/// Moving a deadline later costs nothing: the queue looks at `deadline` when the earlier time comes up.
///
/// An armed timer keeps its target alive, until it fires or is cancelled: who arms one cancels it at its own end. (A weak reference would
/// make every use of its target slower: Swift then counts all references to it in a table of its own.)
package final class ReactorTimer {
    private unowned let queue: TimerQueue
    /// Nanoseconds of the reactor's clock; while it is armed.
    fileprivate var deadline: UInt64 = 0
    /// When the queue looks at it, which is no later; while it is armed. Here too, so that moving it later asks nobody.
    fileprivate var lookedAt: UInt64 = 0
    /// Where it stands in the queue's heap; nil while it isn't armed. Four bytes, as each session has timers.
    fileprivate var place: Int32?

    package init(on reactor: Reactor) {
        queue = reactor.timers
    }

    /// - Parameter target: while the timer is armed always the same.
    package func arm(at deadline: UInt64, calling target: any TimerTarget) {
        self.deadline = deadline
        if place == nil || deadline < lookedAt { queue.arm(self, calling: target) }
    }

    /// The queue lets go of it at once.
    package func cancel() {
        // Else the queue, which may be gone, isn't asked.
        if let place { queue.remove(at: Int(place)) }
    }
}

/// All deadlines of a reactor, as a binary heap over a single `uv_timer`.
final class TimerQueue {
    private struct Entry {
        /// Not later than the timer's deadline.
        var time: UInt64
        let timer: ReactorTimer
        let target: any TimerTarget
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
        for entry in heap { entry.timer.place = nil }
        heap.removeAll()
        closeHandle(handle)
    }

    fileprivate func arm(_ timer: ReactorTimer, calling target: any TimerTarget) {
        guard !isClosed else { return }
        timer.lookedAt = timer.deadline
        if let place = timer.place.map(Int.init) {
            heap[place].time = timer.deadline
            siftUp(place)
        } else {
            heap.append(Entry(time: timer.deadline, timer: timer, target: target))
            timer.place = Int32(heap.count - 1)
            siftUp(heap.count - 1)
        }
        schedule()
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
            if first.timer.deadline > first.time {
                // It was moved later, and takes its new place in the order, even if it is overdue there too.
                first.timer.lookedAt = first.timer.deadline
                heap[0].time = first.timer.deadline
                siftDown(0)
            } else {
                remove(at: 0)
                first.target.timerFired(now: now)
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
