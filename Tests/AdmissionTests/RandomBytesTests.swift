import Testing

@testable import Admission

struct RandomBytesTests {
    /// Counts from 1, and counts how often it is asked.
    private struct Counter: RandomNumberGenerator {
        var asked: UInt64 = 0

        mutating func next() -> UInt64 {
            asked += 1
            return (0..<8).reduce(0) { $0 | ((asked * 8 + UInt64($1) - 7) % 256) << (UInt64($1) * 8) }
        }
    }

    @Test(arguments: [0, 1, 7, 8, 9, 16, 32, 33]) func `every byte of a number is used once, and no more are asked for`(
        count: Int
    ) {
        var counter = Counter()
        let bytes = RandomBytes.make(count, using: &counter)
        #expect(bytes.count == count && counter.asked == UInt64((count + 7) / 8))
        #expect(Set(bytes).count == count && bytes.allSatisfy { (1...40).contains($0) })
    }

    @Test func `two of the system's are never the same`() {
        #expect(Set((0..<1_000).map { _ in RandomBytes.make(16) }).count == 1_000)
    }
}
