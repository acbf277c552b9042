import Foundation
import Testing

@testable import portcullis_sim

struct ProcessTreeTests {
    @Test func `a tree contains the root and its descendants only`() {
        let parents: [Int32: Int32] = [2: 1, 10: 1, 11: 10, 12: 10, 13: 12, 20: 2, 21: 20]
        #expect(ProcessTree.members(root: 10, parents: parents) == [10, 11, 12, 13])
        #expect(ProcessTree.members(root: 99, parents: parents) == [99])
        // Data read while processes start and end may be inconsistent.
        #expect(ProcessTree.members(root: 1, parents: [2: 1, 1: 2]) == [1, 2])
    }

    @Test func `the parent is read whatever the process's name contains`() {
        #expect(ProcessTree.parent(stat: "42 (a) S 7 (b)) S 17 1 1") == 17)
        #expect(ProcessTree.parent(stat: "42 (x)") == nil)
        #expect(ProcessTree.parent(stat: "") == nil)
    }

    @Test func `a running process has CPU time, memory and threads`() throws {
        let usage = try #require(ProcessTree(root: getpid())?.usage)
        #expect(usage.cpuSeconds > 0 && usage.residentBytes > 0 && usage.threads > 0)
        #expect(ProcessTree(root: -5) == nil)
    }

    @Test func `a counter is the first eight bytes of its file, in little-endian order`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("counter-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(ProcessCounter.value(at: path) == nil)
        try Data([1, 2, 0, 0, 0, 0, 0, 0, 9]).write(to: URL(fileURLWithPath: path))
        #expect(ProcessCounter.value(at: path) == 513)
        try Data([1, 2]).write(to: URL(fileURLWithPath: path))
        #expect(ProcessCounter.value(at: path) == nil)
    }
}
