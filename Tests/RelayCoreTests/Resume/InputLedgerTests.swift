import Testing

@testable import RelayCore

struct InputLedgerTests {
    private let window = InputLedger.windowSize

    @Test func `a number is applied once`() {
        var ledger = InputLedger()
        #expect(!ledger.contains(1))
        ledger.insert(1)
        #expect(ledger.contains(1) && !ledger.contains(2))
    }

    @Test func `skipped numbers may still arrive, in any order`() {
        var ledger = InputLedger()
        for cid: UInt64 in [5, 2, 9, 4] { ledger.insert(cid) }
        #expect((1...10).filter { ledger.contains($0) } == [2, 4, 5, 9])
    }

    @Test func `the oldest number of the window may still arrive, and the one before it counts as applied`() {
        var ledger = InputLedger()
        ledger.insert(window + 10)
        #expect(!ledger.contains(11))
        #expect(ledger.contains(10))
        ledger.insert(10)
        ledger.insert(11)
        #expect(ledger.contains(11) && !ledger.contains(12))
    }

    @Test func `a jump beyond the window forgets its numbers`() {
        var ledger = InputLedger()
        for cid in 1...window { ledger.insert(cid) }
        ledger.insert(.max)
        #expect(ledger.contains(.max) && ledger.contains(window))
        #expect((.max - window + 1..<UInt64.max).allSatisfy { !ledger.contains($0) })
        #expect(ledger.contains(.max - window))
    }

    /// Against a set that forgets nothing.
    @Test(arguments: 0..<20) func `a random order is recorded exactly within the window`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var ledger = InputLedger()
        var seen: Set<UInt64> = []
        var next: UInt64 = 1
        for _ in 0..<2_000 {
            next += UInt64.random(in: 0...(Bool.random(using: &generator) ? 3 : 700), using: &generator)
            let back = UInt64.random(in: 0...1_500, using: &generator)
            let cid = next > back ? next - back : next
            let highest = seen.max() ?? 0
            let isOld = cid + window <= highest
            #expect(ledger.contains(cid) == (isOld || seen.contains(cid)))
            ledger.insert(cid)
            if !isOld { seen.insert(cid) }
        }
    }
}
