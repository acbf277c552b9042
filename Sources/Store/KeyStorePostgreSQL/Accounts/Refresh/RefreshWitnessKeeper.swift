import BlockingWork
import Synchronization

/// The witness of this gateway: in memory, and in a file where there is a folder for it, over restarts.
package final class RefreshWitnessKeeper: Sendable {
    /// A disk that takes longer is written to at the next beat.
    private static let patience: Duration = .seconds(5)

    private static let ended = """
        all families of refresh tokens have ended: by an operator, at a failover, or because the database has gone back
        """

    private let file: SmallFile?
    private let witness: Mutex<RefreshWitness>
    private let isFailing = Mutex(false)
    private let disk = BlockingThreads("witness")
    private let report: @Sendable (String) -> Void

    /// Reads the file; blocks. One that can't be used is reported, and counts as none.
    ///
    /// - Parameters:
    ///   - directory: of the gateway's state; nil: a restart forgets the witness.
    ///   - report: what an operator has to know.
    package init(in directory: String? = nil, report: @escaping @Sendable (String) -> Void = { _ in }) {
        (file, self.report) = (directory.map { SmallFile(RefreshWitness.fileName, in: $0) }, report)
        var found: RefreshWitness?
        if let file { found = Self.read(file, report) }
        witness = Mutex(found ?? RefreshWitness())
    }

    private static func read(_ file: SmallFile, _ report: (String) -> Void) -> RefreshWitness? {
        do throws(FileFault) {
            guard let bytes = try file.read(maximum: RefreshWitness.maximumBytes) else { return nil }
            if let witness = RefreshWitness(encoded: bytes) { return witness }
            report("\(file.path) is malformed: it counts as none, and will be replaced")
        } catch {
            report(error.text)
        }
        return nil
    }

    var present: RefreshWitness { witness.withLock { $0 } }

    /// Remembers what the database has confirmed. The file is behind for a moment, so it never says too much.
    func note(beats: Int64, in history: [UInt8]) async {
        let (before, after) = witness.withLock { witness in
            let before = witness
            witness.note(beats: beats, in: history)
            return (before, witness)
        }
        if let known = before.histories.first, known != after.histories.first { report(Self.ended) }
        guard after != before, let file else { return }
        try? await disk.run(within: Self.patience) { [self] in write(after, to: file) }
    }

    private func write(_ witness: RefreshWitness, to file: SmallFile) {
        do throws(FileFault) {
            try file.replace(with: witness.encoded)
            isFailing.withLock { $0 = false }
        } catch {
            let isNews = isFailing.withLock { isFailing in
                defer { isFailing = true }
                return !isFailing
            }
            if isNews { report(error.text) }
        }
    }
}
