import Foundation

/// The kernel's information about a process's threads.
package enum ProcessThreads {
    /// Whether every thread is sleeping (state `S`, proc(5)). A spinning thread never is.
    package static func areAsleep(of processID: Int32) throws -> Bool {
        let tasks = "/proc/\(processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).allSatisfy { thread in
            // A thread that has ended since it was listed isn't spinning.
            guard let line = try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8) else {
                return true
            }
            // The name before the state is in parentheses and may contain any character.
            guard let end = line.lastIndex(of: ")") else { return false }
            return line[end...].dropFirst(2).first == "S"
        }
    }
}
