/// First in, first out, each step of constant cost but for the moves when it grows.
struct RingQueue<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var first: Element? { count == 0 ? nil : slots[head] }

    mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) % slots.count] = element
        count += 1
    }

    mutating func removeFirst() {
        guard count > 0 else { return }
        slots[head] = nil
        head = (head + 1) % slots.count
        count -= 1
    }

    private mutating func grow() {
        let ordered = slots[head...] + slots[..<head]
        slots = Array(ordered) + [Element?](repeating: nil, count: max(16, slots.count))
        head = 0
    }
}
