import KeyStore
import Testing

@Suite("The counters of a key")
struct KeyCountersTests {
    private let window = CounterWindow(size: 32)

    @Test func `windows have 0 to 64 places`() {
        #expect(CounterWindow(size: -1) == nil && CounterWindow(size: 65) == nil)
        #expect(CounterWindow(size: 0) == .strict)
        #expect(CounterWindow(size: 64)?.closed == 0)
        #expect(CounterWindow(size: 1)?.closed == CounterWindow.strict.closed)
        #expect(CounterWindow(size: 2)?.closed == KeyCounters.all - 1)
        #expect(CounterWindow(size: 63)?.closed == 1 << 62)
    }

    @Test(arguments: [2, 3, 31, 32, 62, 63, 64])
    func `a lower counter passes once, if it is lower by less than the window`(size: Int) throws {
        let window = try #require(CounterWindow(size: size))
        var counters = KeyCounters(highest: 100)
        func use(_ counter: UInt32) -> CounterUse { CounterUse(counter, in: window, admitsLower: true) }
        #expect(counters.take(use(1_000)) == .advanced)
        for distance in 1..<UInt32(size) {
            #expect(counters.take(use(1_000 - distance)) == .advanced)
            #expect(counters.take(use(1_000 - distance)) == .notHigher(stored: 1_000))
        }
        for distance in UInt32(size)...200 {
            #expect(counters.take(use(1_000 - distance)) == .notHigher(stored: 1_000))
        }
        #expect(counters.take(use(1_000)) == .notHigher(stored: 1_000))
    }

    @Test func `what was below before counts as used`() throws {
        let window = try #require(window)
        var counters = KeyCounters(highest: 50)
        func use(_ counter: UInt32) -> CounterUse { CounterUse(counter, in: window, admitsLower: true) }
        #expect(counters.take(use(53)) == .advanced)
        #expect(counters.take(use(50)) == .notHigher(stored: 53))
        #expect(counters.take(use(49)) == .notHigher(stored: 53))
        #expect(counters.take(use(51)) == .advanced)
        #expect(counters.take(use(52)) == .advanced)
    }

    @Test func `a strict use marks what it passes over`() throws {
        let window = try #require(window)
        var counters = KeyCounters(highest: 0)
        #expect(counters.take(CounterUse(10)) == .advanced)
        #expect(counters.take(CounterUse(9, in: window, admitsLower: true)) == .notHigher(stored: 10))
        #expect(counters.take(CounterUse(12, in: window)) == .advanced)
        #expect(counters.take(CounterUse(11, in: window)) == .notHigher(stored: 12))
        #expect(counters.take(CounterUse(11, in: window, admitsLower: true)) == .advanced)
    }

    @Test func `a wider window opens nothing that a narrower one had closed`() throws {
        let (narrow, wide) = (try #require(CounterWindow(size: 4)), try #require(CounterWindow(size: 64)))
        var counters = KeyCounters(highest: 0)
        #expect(counters.take(CounterUse(20, in: narrow, admitsLower: true)) == .advanced)
        for counter in UInt32(1)...16 {
            #expect(counters.take(CounterUse(counter, in: wide, admitsLower: true)) == .notHigher(stored: 20))
        }
        for counter in UInt32(17)...19 {
            #expect(counters.take(CounterUse(counter, in: wide, admitsLower: true)) == .advanced)
        }
    }

    @Test func `a rise has a limit, and numbers have an end`() throws {
        let window = try #require(window)
        var counters = KeyCounters(highest: 7)
        func use(_ counter: UInt32) -> CounterUse {
            CounterUse(counter, in: window, admitsLower: true, maximumRise: 1_000_000)
        }
        #expect(counters.take(use(1_000_008)) == .tooHigh(stored: 7))
        #expect(counters.take(use(.max)) == .tooHigh(stored: 7))
        #expect(counters.take(use(1_000_007)) == .advanced)
        #expect(counters.take(CounterUse(.max, in: window)) == .advanced)
        #expect(counters.take(use(.max - 1)) == .advanced)
        #expect(counters.take(use(.max)) == .notHigher(stored: .max))
    }

    /// Against a set of all that were used.
    @Test(arguments: [0, 1, 2, 7, 32, 63, 64])
    func `no counter passes twice, in any order`(size: Int) throws {
        let window = try #require(CounterWindow(size: size))
        var counters = KeyCounters(highest: 1)
        var used: Set<UInt32> = [0, 1]
        var state = UInt64(size) &+ 1
        for _ in 0..<20_000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let distance = Int64(state >> 33) % 80 - 70
            let counter = UInt32(max(0, Int64(counters.highest) + distance))
            let highest = counters.highest
            let outcome = counters.take(CounterUse(counter, in: window, admitsLower: true))
            let isGood = counter > highest || Int(highest - counter) < size && !used.contains(counter)
            #expect((outcome == .advanced) == isGood)
            if outcome == .advanced { used.insert(counter) }
        }
    }

    @Test func `only a larger window begins an epoch`() throws {
        var inForce = WindowInForce()
        var epochs: [Int64] = []
        for size in [0, 32, 32, 8, 8, 32, 0, 64, 63, 0] {
            inForce.put(try #require(CounterWindow(size: size)))
            #expect(inForce.size == size)
            epochs.append(inForce.epoch)
        }
        #expect(epochs == [0, 1, 1, 1, 1, 2, 2, 3, 3, 3])
    }

    @Test func `a gateway's own window counts as well, and one that is left alone narrows what is recorded`() throws {
        let sizes = try [0, 8, 32].map { try #require(CounterWindow(size: $0)) }
        var inForce = WindowInForce()
        inForce.put(sizes[2])
        for (former, epoch) in [(sizes[2], Int64(1)), (sizes[1], 2), (sizes[0], 3)] {
            inForce.put(sizes[2], after: former)
            #expect(inForce.epoch == epoch && inForce.size == 32)
        }
        for (window, size) in [(sizes[2], 32), (sizes[1], 8), (sizes[2], 8)] {
            inForce.narrow(to: window)
            #expect(inForce.epoch == 3 && inForce.size == size)
        }
        inForce.put(sizes[2])
        #expect(inForce.epoch == 4 && inForce.size == 32)
    }
}
