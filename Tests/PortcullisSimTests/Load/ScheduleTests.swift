import Testing

@testable import portcullis_sim

struct ScheduleTests {
    @Test func `intended times don't depend on when they are taken`() {
        var punctual = TrafficPlan(.steady(perSecond: 3, bytes: 64), start: 1_000, seed: 4)
        var late = punctual
        let expected = (0..<30).compactMap { _ in punctual.next.flatMap { punctual.take(by: $0) } }
        var taken: [UInt64] = []
        while taken.count < 30, let time = late.take(by: .max) { taken.append(time) }
        #expect(taken == expected)
    }

    @Test func `a steady plan keeps its rate for hours`() {
        var plan = TrafficPlan(.steady(perSecond: 3, bytes: 64), start: 0, seed: 4)
        var count = 0
        while plan.take(by: 3_600_000_000_000) != nil { count += 1 }
        #expect((10_799...10_801).contains(count))
    }

    @Test func `nothing is due before its time`() {
        var plan = TrafficPlan(.typed(perSecond: 1), start: 500, seed: 4)
        let first = plan.next ?? 0
        #expect(plan.take(by: first - 1) == nil)
        #expect(plan.take(by: first) == first)
        #expect((plan.next ?? 0) > first)
    }

    @Test(arguments: [.none, .window(messages: 4, bytes: 64)] as [TrafficPlan.Kind])
    func `plans without times have none`(kind: TrafficPlan.Kind) {
        var plan = TrafficPlan(kind, start: 0, seed: 4)
        #expect(plan.next == nil)
        #expect(plan.take(by: .max) == nil)
    }

    @Test func `a heap returns elements in order of time`() {
        var heap = DeadlineHeap<Int>()
        var generator = SeededGenerator(seed: 1)
        let times = (0..<500).map { _ in UInt64.random(in: 0..<1_000, using: &generator) }
        for (index, time) in times.enumerated() { heap.insert(index, at: time) }
        #expect(heap.take(by: 0)?.time ?? 0 == 0)
        var taken: [UInt64] = []
        while let (time, index) = heap.take(by: .max) {
            #expect(times[index] == time)
            taken.append(time)
        }
        #expect(taken == taken.sorted())
        #expect(taken.count >= 499)
        #expect(heap.first == nil)
    }

    @Test func `source addresses are loopback addresses and repeat`() {
        let sources = SourceAddresses(count: 300)
        #expect(sources.address(of: 0) == "127.0.0.2")
        #expect(sources.address(of: 299) == "127.0.1.45")
        #expect(sources.address(of: 300) == "127.0.0.2")
        #expect(Set((0..<300).compactMap { sources.address(of: $0) }).count == 300)
        #expect(SourceAddresses(count: SourceAddresses.maximumCount).address(of: 64_999) == "127.0.253.233")
        #expect(SourceAddresses(count: 4, first: 300).address(of: 5) == "127.0.1.47")
        #expect(SourceAddresses(count: 0).address(of: 5) == nil)
    }
}
