import Foundation

/// A process's resources at one moment, from Linux (proc(5)).
struct ProcessSample: Hashable, Sendable {
    /// Seconds since the first sample.
    let time: Double
    let residentKiB: Double
    /// Resident memory that isn't backed by a file: it includes leaks, whichever allocator they came from.
    let anonymousKiB: Double
    let threads: Int
    let files: Int

    /// - Returns: nil if there is no such process, or if we may not inspect it.
    init?(pid: Int32, time: Double) {
        guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count
        else { return nil }
        self.init(status: status, files: files, time: time)
    }

    /// - Parameter status: of `/proc/<pid>/status`.
    init?(status: String, files: Int, time: Double) {
        func number(_ name: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
            return line?.dropFirst(name.count + 1).split(whereSeparator: \.isWhitespace).first.flatMap { Int($0) }
        }
        guard let resident = number("VmRSS"), let anonymous = number("RssAnon"), let threads = number("Threads")
        else { return nil }
        self.time = time
        residentKiB = Double(resident)
        anonymousKiB = Double(anonymous)
        self.threads = threads
        self.files = files
    }
}
