/// A write lock on the store, held by the sqlite3 program.
package struct StoreLock: Sendable {
    private let program: ChildProcess

    package static let isAvailable = (try? ChildProcess.executable("sqlite3")) != nil

    package static func take(_ path: String) async throws -> StoreLock {
        let program = try ChildProcess(ChildProcess.executable("sqlite3"), ["-batch", "-bail", path])
        try program.write(".timeout 10000\nBEGIN IMMEDIATE;\n.shell echo locked\n")
        try await program.output.wait(for: "the lock") { $0.outputLines.contains("locked") ? true : nil }
        return StoreLock(program: program)
    }

    package func release() async throws {
        try program.write("ROLLBACK;\n.quit\n")
        try program.closeInput()
        try await program.ended()
    }
}
