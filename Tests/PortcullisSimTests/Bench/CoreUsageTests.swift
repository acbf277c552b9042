import Testing

@testable import portcullis_sim

struct CoreUsageTests {
    @Test func `work is everything except idle and I/O wait, and includes stolen time`() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n"
        #expect(CoreUsage.busySeconds(stat: stat, ticksPerSecond: 100) == 1.71)
        #expect(CoreUsage.busySeconds(stat: "intr 5", ticksPerSecond: 100) == nil)
        #expect(CoreUsage.busySeconds(stat: "cpu 1 2", ticksPerSecond: 100) == nil)
        #expect((CoreUsage.busySeconds ?? 0) > 0)
    }
}
