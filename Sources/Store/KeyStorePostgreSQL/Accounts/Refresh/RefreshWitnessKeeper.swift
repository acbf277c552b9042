import BlockingWork
import Synchronization

/// The witness of this gateway: in memory, and in a file where there is a folder for it, over restarts.
package final class RefreshWitnessKeeper: Sendable {
    /// A shutdown waits no longer for a disk that is stuck.
    private static let lastPatience: Duration = .seconds(1)

    private static let ended = """
        all families of refresh tokens have ended: by an operator, at a failover, or because the database has gone back
        """

    private let file: SmallFile?
    private let pause: Duration
    private let patience: Duration
    private let witness: Mutex<RefreshWitness>
    /// What the file has.
    private let written: Mutex<RefreshWitness?>
    /// The file will be written soon, and a beat asked for.
    private let isDue = Mutex(false)
    private let isFailing = Mutex(false)
    private let disk = BlockingThreads("witness")
    private let report: @Sendable (String) -> Void

    /// Reads the file; blocks. One that can't be used is reported, and counts as none.
    ///
    /// - Parameters:
    ///   - directory: of the gateway's state; nil: a restart forgets the witness.
    ///   - pause: between two writes of the file, but for beats that the gateway makes by itself.
    ///   - patience: nobody waits longer for a disk that is stuck, nor for its thread.
    ///   - report: what an operator has to know.
    package init(
        in directory: String? = nil, pause: Duration = .seconds(1), patience: Duration = .seconds(5),
        report: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        file = directory.map { SmallFile(RefreshWitness.fileName, in: $0) }
        (self.pause, self.patience, self.report) = (pause, patience, report)
        var found: RefreshWitness?
        if let file { found = Self.read(file, report) }
        written = Mutex(found)
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

    package var present: RefreshWitness { witness.withLock { $0 } }

    /// Remembers what the database has confirmed, without waiting. The file is behind for a moment, so it never says
    /// too much.
    ///
    /// - Parameter beat: follows soon on what isn't a beat, whatever becomes of the file. It isn't repeated.
    func note(
        _ confirmed: RefreshConfirmation, after known: [UInt8]?, thenBeating beat: @escaping @Sendable () async -> Void
    ) {
        let (before, after) = witness.withLock { witness in
            let before = witness
            witness.note(confirmed, after: known)
            return (before, witness)
        }
        // In another database other families are good.
        if let known = before.histories.first, known != after.histories.first, before.place == after.place {
            report(Self.ended)
        }
        if confirmed.beats == 0 { keepSoon(beat) }
    }

    private func keepSoon(_ beat: @escaping @Sendable () async -> Void) {
        let isFirst = isDue.withLock { isDue in
            defer { isDue = true }
            return !isDue
        }
        guard file != nil, isFirst else { return }
        Task {
            try? await Task.sleep(for: pause)
            isDue.withLock { $0 = false }
            async let kept: Void = keep()
            await beat()
            await kept
        }
    }

    /// Writes the file, if it doesn't have all, and leaves a disk that is stuck alone: the caller has other work.
    func keep() async { await keep(within: patience) }

    /// Before a shutdown.
    func keepAtLast() async { await keep(within: min(Self.lastPatience, patience)) }

    private func keep(within limit: Duration) async {
        guard let file else { return }
        let (ending, end) = AsyncStream<Never>.makeStream()
        Task {
            try? await disk.run(within: patience) { [self] in write(to: file) }
            end.finish()
        }
        let timer = Task {
            try? await Task.sleep(for: limit)
            end.finish()
        }
        for await _ in ending {}
        timer.cancel()
    }

    private func write(to file: SmallFile) {
        let witness = present
        guard written.withLock({ $0 }) != witness else { return }
        do throws(FileFault) {
            try file.replace(with: witness.encoded)
            written.withLock { $0 = witness }
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
