import Testing

@testable import Reactors

/// The order in which sources are served.
struct FairQueueTests {
    private var queue = FairQueue<String, Int>()

    private mutating func drain() -> [Int] {
        var order: [Int] = []
        while let element = queue.removeFirst() { order.append(element) }
        return order
    }

    @Test mutating func `one source is served in its own order`() {
        for number in 1...4 { queue.append(number, of: "a") }
        #expect(drain() == [1, 2, 3, 4])
        #expect(queue.isEmpty)
    }

    @Test mutating func `sources take turns independent of their queues`() {
        for number in 1...3 { queue.append(number, of: "a") }
        for number in 11...13 { queue.append(number, of: "b") }
        #expect(drain() == [1, 11, 2, 12, 3, 13])
    }

    @Test mutating func `a new source is served before those already served`() {
        for number in 1...3 { queue.append(number, of: "flood") }
        #expect(queue.removeFirst() == 1)
        queue.append(100, of: "honest")
        #expect(drain() == [100, 2, 3])
    }

    @Test mutating func `a source that left and came back isn't new`() {
        queue.append(1, of: "a")
        queue.append(11, of: "b")
        queue.append(12, of: "b")
        #expect(queue.removeFirst() == 1)
        queue.append(2, of: "a")
        #expect(drain() == [11, 2, 12])
    }

    /// A source that returns isn't starved by an endless supply of new ones.
    @Test mutating func `an endless supply of new sources keeps no old one waiting`() {
        queue.append(0, of: "honest")
        #expect(queue.removeFirst() == 0)
        queue.append(1, of: "honest")
        var served: [Int] = []
        for number in 100..<120 {
            queue.append(number, of: "new \(number)")
            queue.append(number + 100, of: "more \(number)")
            served.append(queue.removeFirst() ?? -1)
        }
        #expect(served.prefix(6).contains(1))
    }

    @Test mutating func `sources that were served are forgotten while others come`() {
        for number in 0..<10_000 {
            queue.append(number, of: "\(number)")
            #expect(queue.removeFirst() == number)
        }
        #expect(queue.sourceCount <= 4)
    }

    @Test mutating func `a forgotten source is new again, unless it has waiting items`() {
        queue.append(1, of: "a")
        #expect(queue.removeFirst() == 1)
        queue.append(11, of: "b")
        queue.append(12, of: "b")
        #expect(queue.removeFirst() == 11)
        queue.forget("a")
        queue.forget("b")
        queue.append(2, of: "a")
        #expect(drain() == [2, 12])
        #expect(queue.isEmpty)
    }

    @Test mutating func `a source without waiting items is forgotten at its turn`() {
        queue.append(1, of: "a")
        #expect(drain() == [1])
        queue.append(11, of: "b")
        queue.append(12, of: "b")
        #expect(queue.removeFirst() == 11)
        queue.append(2, of: "a")
        #expect(drain() == [2, 12])
    }

    @Test mutating func `the newest item of the longest source is removed first`() {
        queue.append(1, of: "a")
        for number in 11...13 { queue.append(number, of: "b") }
        #expect(queue.removeNewestOfLargest() == 13)
        #expect(queue.count == 3)
        #expect(drain() == [1, 11, 12])
        #expect(queue.removeNewestOfLargest() == nil)
    }

    @Test mutating func `a removed item isn't served`() {
        for number in 1...3 { queue.append(number, of: "a") }
        queue.remove(of: "a") { $0 == 2 }
        queue.remove(of: "a") { $0 == 9 }
        queue.remove(of: "b") { $0 == 1 }
        #expect(queue.count == 2)
        #expect(queue.count(of: "a") == 2)
        #expect(drain() == [1, 3])
    }
}
