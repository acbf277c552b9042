import BlockingWork
import Synchronization

/// The witness of this gateway: in memory, and in a file where there is a folder for it.
package final class RefreshWitnessKeeper: Sendable {
    /// A disk that takes longer is written to at the next beat.
    private static let patience: Duration = .seconds(5)

    private static let ended = """
        all families of refresh tokens have ended: by an operator, at a failover, or because the database has gone back
        """

    private let file: RefreshWitnessFile?
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
        (file, self.report) = (directory.map { RefreshWitnessFile(in: $0) }, report)
        var found: RefreshWitness?
        do throws(RefreshWitnessFile.Failure) { found = try file?.read() } catch { report(error.description) }
        witness = Mutex(found ?? RefreshWitness())
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

    private func write(_ witness: RefreshWitness, to file: RefreshWitnessFile) {
        do throws(RefreshWitnessFile.Failure) {
            try file.write(witness)
            isFailing.withLock { $0 = false }
        } catch {
            let isNews = isFailing.withLock { isFailing in
                defer { isFailing = true }
                return !isFailing
            }
            if isNews { report(error.description) }
        }
    }
}
