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

    /// From the process's own clock, which counts nanoseconds: ticks are too coarse for a measurement of a second or
    /// two.
    private static func exactCPUSeconds(of pid: Int32) -> Double? {
        var clock: clockid_t = 0
        guard clock_getcpuclockid(pid, &clock) == 0 else { return nil }
        // The timespec is read by its layout, because the compiler assigns its members to different C modules in this
        // file.
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

    /// - Parameter stat: of `/proc/<pid>/stat`. The second field is the program's name in parentheses, which may
    ///   contain any character.
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

/// A process and all its descendants, as of the creation of this value: some servers fork for each connection.
struct ProcessTree: Sendable {
    let pids: [Int32]

    /// - Returns: nil if there is no such process.
    init?(root: Int32) {
        guard ProcessUsage(pid: root) != nil else { return nil }
        pids = Self.members(root: root, parents: Self.parents())
    }

    /// - Parameter parents: the parent of each process.
    /// - Returns: the root first.
    static func members(root: Int32, parents: [Int32: Int32]) -> [Int32] {
        let children = Dictionary(grouping: parents.keys) { parents[$0] }
        var members = [root]
        var next = 0
        while next < members.count {
            members += (children[members[next]] ?? []).sorted().filter { !members.contains($0) }
            next += 1
        }
        return members
    }

    /// The sum of their usage; nil if the root has ended. Shared memory counts for each process.
    var usage: ProcessUsage? {
        guard let root = pids.first, ProcessUsage(pid: root) != nil else { return nil }
        let all = pids.compactMap { ProcessUsage(pid: $0) }
        return ProcessUsage(
            cpuSeconds: all.reduce(0) { $0 + $1.cpuSeconds }, residentBytes: all.reduce(0) { $0 + $1.residentBytes },
            threads: all.reduce(0) { $0 + $1.threads })
    }

    private static func parents() -> [Int32: Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        var parents: [Int32: Int32] = [:]
        for pid in names.compactMap({ Int32($0) }) {
            guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { continue }
            parents[pid] = parent(stat: stat)
        }
        return parents
    }

    /// - Parameter stat: of `/proc/<pid>/stat` (proc(5)): the state and the parent follow the name.
    static func parent(stat: String) -> Int32? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(whereSeparator: \.isWhitespace)
        return fields.count > 1 ? Int32(fields[1]) : nil
    }
}

/// A counter that another program keeps in the first eight bytes of a file.
enum ProcessCounter {
    static func value(at path: String) -> UInt64? {
        guard let file = FileHandle(forReadingAtPath: path), let bytes = try? file.read(upToCount: 8), bytes.count == 8
        else { return nil }
        return bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
