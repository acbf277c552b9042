import Foundation

/// A disk of one process alone, for its key store or its audit log, that a test can stall: what has to be written out to it waits until the test
/// lets it go on. See `Tests/Stall/stalling_disk.c`, which is loaded into the process.
package final class StallingDisk: Sendable {
    private let directory: TemporaryDirectory
    private let library: String
    private let stallsWrites: Bool
    private let gate: FileHandle

    /// - Parameter stallsWrites: write(2) waits as well, which SQLite doesn't use.
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

    /// A process under a sanitizer wants that one's library to be the first.
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

    /// Returns when something in the gateway waits for its disk.
    package static func isWaited(for gateway: GatewayProcess) async throws {
        try await gateway.errorLine("stalling disk: a call waits")
    }
}
