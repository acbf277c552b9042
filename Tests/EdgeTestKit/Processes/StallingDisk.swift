import Foundation

/// A disk for a single process's key store or audit log that a test can stall: data that must be flushed to it waits
/// until the test releases it. See `Tests/Stall/stalling_disk.c`, which is loaded into the process.
package final class StallingDisk: Sendable {
    private let directory: TemporaryDirectory
    private let library: String
    private let stallsWrites: Bool
    private let gate: FileHandle

    /// - Parameter stallsWrites: write(2) waits too; SQLite doesn't use it.
    package init(stallsWrites: Bool = false) async throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.file("disk"), withIntermediateDirectories: false)
        library = directory.file("stalling_disk.so")
        self.stallsWrites = stallsWrites
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Stall/stalling_disk.c").path
        try await ChildProcess.check("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
        gate = FileHandle(forReadingAtPath: try directory.write("", to: "gate")) ?? .nullDevice
    }

    /// A process under a sanitizer requires the sanitizer's library to be loaded first.
    package static let isAvailable =
        (try? ChildProcess.executable("cc")) != nil && ProcessInfo.processInfo.environment["PORTCULLIS_BIN"] == nil

    var environment: [String: String] {
        let gatePath = directory.file("gate")
        let base = ["LD_PRELOAD": library, "STALL_DIRECTORY": directory.file("disk"), "STALL_GATE": gatePath]
        return stallsWrites ? base.merging(["STALL_WRITES": "1"]) { $1 } : base
    }

    package func file(_ name: String) -> String { directory.file("disk/" + name) }

    package func stall() throws {
        guard flock(gate.fileDescriptor, LOCK_EX | LOCK_NB) == 0 else { throw EdgeTestError("the gate: \(errno)") }
    }

    package func goOn() {
        flock(gate.fileDescriptor, LOCK_UN)
    }

    /// Returns when a thread of the gateway waits for its disk.
    package static func isWaited(for gateway: GatewayProcess) async throws {
        try await gateway.errorLine("stalling disk: a call waits")
    }
}
