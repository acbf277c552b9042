import Foundation
import Glibc
import Observability
import PrometheusText

/// What the kernel says about this process, by the names that Prometheus' client libraries use. It reads `/proc`, so it
/// isn't for a reactor.
struct ProcessFigures {
    /// Unix seconds; nil if it can't be read.
    private let start: Double?

    init() { start = Self.startTime() }

    /// A figure that can't be read is left out.
    func observations() -> [MetricObservation] {
        let pages = Self.words("/proc/self/statm").compactMap(Double.init)
        let pageBytes = Double(sysconf(Int32(_SC_PAGESIZE)))
        let figures: [(MetricName, Double?)] = [
            (.processCPU, Self.cpuSeconds()),
            (.processVirtual, pages.first.map { $0 * pageBytes }),
            (.processResident, pages.dropFirst().first.map { $0 * pageBytes }),
            (.processStart, start),
            (.processOpenFiles, Self.openFiles()),
            (.processMaximumFiles, Self.maximumFiles()),
        ]
        return figures.compactMap { name, value in value.map { MetricObservation(name.rawValue, [], $0) } }
    }

    private static func cpuSeconds() -> Double? {
        var usage = rusage()
        guard getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 }
    }

    /// Without the descriptor that reads the folder. If there is none left for it, all are open.
    private static func openFiles() -> Double? {
        guard let folder = opendir("/proc/self/fd") else { return errno == EMFILE ? maximumFiles() : nil }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        return Double(max(0, count - 1))
    }

    private static func maximumFiles() -> Double? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == UInt.max ? .infinity : Double(limit.rlim_cur)
    }

    /// proc(5): the 22nd field of `stat`, in clock ticks after the system's start.
    private static func startTime() -> Double? {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let nameEnd = stat.lastIndex(of: ")")
        else { return nil }
        // The third field follows the name.
        let fields = stat[stat.index(after: nameEnd)...].split(separator: " ")
        guard fields.count > 19, let ticks = Double(fields[19]) else { return nil }
        // Not `btime` of /proc/stat, which a sandboxed service doesn't see.
        let boot = seconds(of: CLOCK_REALTIME) - seconds(of: CLOCK_BOOTTIME)
        return boot + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func seconds(of clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func words(_ path: String) -> [String] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return text.split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
