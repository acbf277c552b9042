import CHeap
import Foundation

/// What the machine says about time and about this process.
enum Machine {
    /// Seconds of a clock that nobody sets.
    static var now: Double { seconds(CLOCK_MONOTONIC) }

    /// CPU seconds of this process, all threads, the kernel's work for it included.
    static var cpuTime: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }

    private static func seconds(_ clock: Int32) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// What is allocated, in KiB. It doesn't have what the allocator keeps for later.
    static var heapKiB: Double { Double(heap_in_use()) / 1_024 }

    /// Resident memory of this process, in KiB.
    static var residentKiB: Double {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Double(fields[1]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_024 : 0
    }
}

/// Statistics of few samples.
enum Samples {
    /// - Parameter part: 0.5 is the median.
    static func percentile(_ part: Double, of values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(Int(Double(sorted.count) * part), sorted.count - 1)]
    }

    /// The line of least squares through points: its slope, and the standard error of that.
    static func slope(_ points: [(x: Double, y: Double)]) -> (slope: Double, error: Double) {
        let count = Double(points.count)
        guard count > 2 else { return (.nan, .nan) }
        let (meanX, meanY) = (points.reduce(0) { $0 + $1.x } / count, points.reduce(0) { $0 + $1.y } / count)
        let spread = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        let slope = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) } / spread
        let rest = points.reduce(0) { sum, point in
            let miss = point.y - meanY - slope * (point.x - meanX)
            return sum + miss * miss
        }
        return (slope, (rest / (count - 2) / spread).squareRoot())
    }
}
