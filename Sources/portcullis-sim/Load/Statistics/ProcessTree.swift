import Foundation
import Glibc

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
