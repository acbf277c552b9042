import Foundation

/// What the kernel says about a process's threads.
package enum ProcessThreads {
    /// Whether every thread waits for something (state `S`, proc(5)). A thread that spins never does.
    package static func areAsleep(of processID: Int32) throws -> Bool {
        let tasks = "/proc/\(processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { thread in
            // One that has ended since it was listed doesn't spin.
            guard let line = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8) else {
                return true
            }
            // The name before the state stands in parentheses, and may hold anything.
            guard let end = line.lastIndex(of: ")") else { return false }
            return line[end...].dropFirst(2).first == "S"
        }
    }
}
