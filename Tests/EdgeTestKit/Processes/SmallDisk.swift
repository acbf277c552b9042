import Foundation

/// A disk for a single process's key store or audit log that can run full: a tmpfs in its own mount namespace. It ends
/// with the process.
package struct SmallDisk: Sendable {
    private static let size = "4m"
    private let directory: TemporaryDirectory

    package init() throws {
        directory = try TemporaryDirectory()
    }

    /// Whether this user may create one: root may, and other users if they may create user namespaces.
    package static let isAvailable: Bool = {
        guard let words = try? namespace(), let program = words.first else { return false }
        let null = open("/dev/null", O_RDWR)
        defer { close(null) }
        let trial = try? Spawn.start(
            program, words.dropFirst() + ["mount", "-t", "tmpfs", "tmpfs", NSTemporaryDirectory()],
            environment: ChildProcess.plainEnvironment, directory: nil, files: (null, null, null))
        return trial.map(Spawn.end) == .exited(0)
    }()

    private static func namespace() throws -> [String] {
        let asRoot = geteuid() == 0 ? [] : ["--user", "--map-root-user"]
        return [try ChildProcess.executable("unshare")] + asRoot + ["--mount"]
    }

    /// The command that runs the program with the disk in place, as the same process.
    func command(_ program: String, _ arguments: [String]) throws -> (String, [String]) {
        let words = try Self.namespace()
        let mount = "mount -t tmpfs -o mode=700,size=\(Self.size) tmpfs \"$1\" && shift && exec \"$@\""
        return (words[0], words.dropFirst() + ["sh", "-c", mount, "sh", directory.path, program] + arguments)
    }

    package func file(_ name: String) -> String { directory.file(name) }

    /// The current content of a file, as the process sees it.
    package func read(_ name: String, of process: Int32) throws -> String {
        String(
            decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/\(process)/root" + file(name))), as: UTF8.self)
    }

    /// Fills all remaining space.
    package func fill(of process: Int32) throws {
        let descriptor = open(filler(process), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw EdgeTestError("the disk of \(process) can't be reached: \(errno)") }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, zeros, zeros.count) > 0 {}
        guard errno == ENOSPC else { throw EdgeTestError("the disk isn't full: \(errno)") }
    }

    package func empty(of process: Int32) throws {
        try FileManager.default.removeItem(atPath: filler(process))
    }

    /// The path as the process sees it.
    private func filler(_ process: Int32) -> String { "/proc/\(process)/root" + file("filler") }
}
