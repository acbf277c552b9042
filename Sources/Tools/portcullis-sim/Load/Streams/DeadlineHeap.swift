/// Deadlines in a binary heap. An entry is never removed before its time; an element whose deadline has changed finds
/// out when it is called.
struct DeadlineHeap<Element> {
    private var entries: [(time: UInt64, element: Element)] = []

    var first: UInt64? { entries.first?.time }

    mutating func insert(_ element: Element, at time: UInt64) {
        entries.append((time, element))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].time < entries[parent].time else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// - Returns: the earliest entry, if it is due.
    mutating func take(by now: UInt64) -> (time: UInt64, element: Element)? {
        guard let first = entries.first, first.time <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        siftDown()
        return first
    }

    private mutating func siftDown() {
        var parent = 0
        while true {
            var smallest = parent
            for child in (2 * parent + 1)...(2 * parent + 2) where child < entries.count {
                if entries[child].time < entries[smallest].time { smallest = child }
            }
            guard smallest != parent else { return }
            entries.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
