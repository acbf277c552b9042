/// A queue in an array that is used in a circle: appending and taking the first cost the same however long it is.
struct RingBuffer<Element> {
    private var storage: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var first: Element? { count == 0 ? nil : storage[head] }

    mutating func append(_ element: Element) {
        if count == storage.count { grow() }
        storage[(head + count) % storage.count] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        defer {
            storage[head] = nil
            head = (head + 1) % storage.count
            count -= 1
        }
        return storage[head]
    }

    /// Nothing happens where there is none.
    mutating func mutateFirst(_ body: (inout Element) -> Void) {
        guard count > 0, var element = storage[head] else { return }
        body(&element)
        storage[head] = element
    }

    private mutating func grow() {
        let elements = Array(self)
        storage = elements + Array(repeating: nil, count: Swift.max(elements.count, 8))
        head = 0
    }
}

extension RingBuffer: Sequence {
    func makeIterator() -> AnyIterator<Element> {
        var offset = 0
        return AnyIterator {
            guard offset < count else { return nil }
            defer { offset += 1 }
            return storage[(head + offset) % storage.count]
        }
    }
}

extension RingBuffer: Sendable where Element: Sendable {}
