/// The process's memory from time to time. The samples themselves take the same memory from the beginning.
struct MemorySamples {
    struct Sample {
        var cut = 0
        var resident = 0.0
        var heap = 0.0
    }

    private static let maximum = 600
    /// Samples between two lines of progress.
    private static let progress = 60

    private(set) var all: [Sample]
    private var next = 0.0

    init() {
        all = Array(repeating: Sample(), count: Self.maximum)
        all.removeAll(keepingCapacity: true)
    }

    /// - Parameter seconds: the time over which the samples are spread.
    mutating func take(at cut: Int, over seconds: Double) {
        guard Machine.now >= next, all.count < Self.maximum else { return }
        next = Machine.now + seconds / Double(Self.maximum)
        all.append(Sample(cut: cut, resident: Machine.residentKiB, heap: Machine.heapKiB))
        if all.count.isMultiple(of: Self.progress), let last = all.last {
            ClientBenchmark.note("\(cut) cuts, \(last.resident) KiB, of which \(last.heap) KiB are allocated")
        }
    }
}
