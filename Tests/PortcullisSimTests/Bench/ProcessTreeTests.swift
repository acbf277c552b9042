import Foundation
import Testing

@testable import portcullis_sim

struct ProcessTreeTests {
    @Test("a tree holds the root and everything below it, and nobody else")
    func members() {
        let parents: [Int32: Int32] = [2: 1, 10: 1, 11: 10, 12: 10, 13: 12, 20: 2, 21: 20]
        #expect(ProcessTree.members(root: 10, parents: parents) == [10, 11, 12, 13])
        #expect(ProcessTree.members(root: 99, parents: parents) == [99])
        // Data read while processes start and end may be inconsistent.
        #expect(ProcessTree.members(root: 1, parents: [2: 1, 1: 2]) == [1, 2])
    }

    @Test("a parent is read past any name")
    func parent() {
        #expect(ProcessTree.parent(stat: "42 (a) S 7 (b)) S 17 1 1") == 17)
        #expect(ProcessTree.parent(stat: "42 (x)") == nil)
        #expect(ProcessTree.parent(stat: "") == nil)
    }

    @Test("a process that is there has used something, and by its own clock")
    func here() throws {
        let usage = try #require(ProcessTree(root: getpid())?.usage)
        #expect(usage.cpuSeconds > 0 && usage.residentBytes > 0 && usage.threads > 0)
        #expect(ProcessTree(root: -5) == nil)
    }

    @Test("a counter is the first eight bytes of its file, the least first")
    func counter() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("counter-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(ProcessCounter.value(at: path) == nil)
        try Data([1, 2, 0, 0, 0, 0, 0, 0, 9]).write(to: URL(fileURLWithPath: path))
        #expect(ProcessCounter.value(at: path) == 513)
        try Data([1, 2]).write(to: URL(fileURLWithPath: path))
        #expect(ProcessCounter.value(at: path) == nil)
    }
}
