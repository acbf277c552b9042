import Foundation
import Glibc

/// A process's usage so far, from Linux (proc(5)).
struct ProcessUsage: Hashable, Sendable {
    let cpuSeconds: Double
    let residentBytes: UInt64
    let threads: Int

    /// - Returns: nil if there is no such process.
    init?(pid: Int32) {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return nil }
        self.init(
            stat: stat, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))),
            pageBytes: UInt64(sysconf(Int32(_SC_PAGESIZE))), exactCPUSeconds: Self.exactCPUSeconds(of: pid))
    }

    /// From the process's own clock, which counts nanoseconds: ticks are too coarse for a measurement of a second or two.
    private static func exactCPUSeconds(of pid: Int32) -> Double? {
        var clock: clockid_t = 0
        guard clock_getcpuclockid(pid, &clock) == 0 else { return nil }
        // The timespec is read by its layout, because the compiler assigns its members to different C modules in this file.
        return withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { words in
            let isRead = words.baseAddress!.withMemoryRebound(to: timespec.self, capacity: 1) {
                clock_gettime(clock, $0) == 0
            }
            return isRead ? Double(words[0]) + Double(words[1]) / 1e9 : nil
        }
    }

    init(cpuSeconds: Double, residentBytes: UInt64, threads: Int) {
        self.cpuSeconds = cpuSeconds
        self.residentBytes = residentBytes
        self.threads = threads
    }

    /// - Parameter stat: of `/proc/<pid>/stat`. The second field is the program's name in parentheses, which may contain any
    ///   character.
    init?(stat: String, ticksPerSecond: Double, pageBytes: UInt64, exactCPUSeconds: Double? = nil) {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        // Counted from the third: utime, stime, num_threads and rss are the 14th, 15th, 20th and 24th.
        guard fields.count > 21, let user = Double(fields[11]), let system = Double(fields[12]),
            let threads = Int(fields[17]), let pages = UInt64(fields[21])
        else { return nil }
        cpuSeconds = exactCPUSeconds ?? (user + system) / ticksPerSecond
        residentBytes = pages * pageBytes
        self.threads = threads
    }
}

/// A process's usage over a period.
struct ProcessUsageRecord: Sendable {
    private var first: ProcessUsage?
    private var last: ProcessUsage?
    private var highestResidentBytes: UInt64 = 0

    mutating func add(_ usage: ProcessUsage) {
        first = first ?? usage
        last = usage
        highestResidentBytes = max(highestResidentBytes, usage.residentBytes)
    }

    func report(
        seconds: Double, messages: UInt64, connects: UInt64, counted: UInt64? = nil
    ) -> LoadReport.Process? {
        guard let first, let last else { return nil }
        let cpu = last.cpuSeconds - first.cpuSeconds
        return LoadReport.Process(
            cpuSeconds: cpu, cpuPercent: cpu / seconds * 100,
            cpuMicrosecondsPerMessage: messages > 0 ? cpu / Double(messages) * 1e6 : nil,
            cpuMicrosecondsPerConnect: connects > 0 ? cpu / Double(connects) * 1e6 : nil,
            residentBytesBefore: first.residentBytes, residentBytesAfter: last.residentBytes,
            residentBytesHighest: highestResidentBytes, threads: last.threads, counted: counted,
            countedPerMessage: counted.flatMap { messages > 0 ? Double($0) / Double(messages) : nil })
    }
}
