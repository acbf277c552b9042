import Foundation

/// The kernel's memory figures for a process.
package enum ProcessMemory {
    /// Resident memory, in KiB (`VmRSS`, proc(5)).
    package static func residentKiB(of processID: Int32) throws -> Int {
        try field("VmRSS", of: processID)
    }

    /// The highest resident memory so far, in KiB (`VmHWM`, proc(5)).
    package static func peakKiB(of processID: Int32) throws -> Int {
        try field("VmHWM", of: processID)
    }

    package static func openFiles(of processID: Int32) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd").count
    }

    /// Without files such as those of the store, which are opened and closed at any time.
    package static func openSockets(of processID: Int32) throws -> Int {
        let folder = "/proc/\(processID)/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).count {
            // A file that was closed meanwhile has no destination any more.
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasPrefix("socket:")
                == true
        }
    }

    private static func field(_ name: String, of processID: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        guard
            let number = line?.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first.flatMap({ Int($0) })
        else { throw EdgeTestError("no \(name) for process \(processID)") }
        return number
    }
}
