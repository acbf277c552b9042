import Foundation

/// The wall clock of a single gateway, which a test can step. Monotonic clocks stay as they are. See `scripts/clock.c`,
/// which is loaded into the process.
package final class SteppedClock: Sendable {
    private let directory: TemporaryDirectory
    private let library: String
    private let offset: String

    package init() async throws {
        directory = try TemporaryDirectory()
        library = directory.file("clock.so")
        offset = try directory.write(Self.text(0), to: "clock")
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("scripts/clock.c").path
        try await ChildProcess.check("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
    }

    /// A process under a sanitizer requires the sanitizer's library to be loaded first.
    package static let isAvailable = StallingDisk.isAvailable

    var environment: [String: String] { ["LD_PRELOAD": library, "SOAK_CLOCK": offset] }

    /// From now on the process's clock differs from the machine's by this many seconds.
    package func step(to seconds: Int) throws {
        guard let file = FileHandle(forUpdatingAtPath: offset) else { throw EdgeTestError("no clock") }
        // In place: the process has mapped the file.
        try file.write(contentsOf: Data(Self.text(seconds).utf8))
        try file.close()
    }

    /// A sign and ten digits.
    private static func text(_ seconds: Int) -> String {
        let digits = String(seconds.magnitude)
        return (seconds < 0 ? "-" : "+") + String(repeating: "0", count: 10 - digits.count) + digits
    }
}
