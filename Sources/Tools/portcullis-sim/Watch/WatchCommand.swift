import ArgumentParser
import Foundation
import Glibc
import Synchronization

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Look at a process now and then: its memory, how that grows, its threads and files.",
        discussion: """
            The slope is that of the anonymous memory, by least squares over the means of \(Trend.blocks) blocks, with its standard error.
            SIGTERM or SIGINT end it, and then it reports. It ends with 1 if the process did, or if its memory rises faster than --limit by more
            than two standard errors.
            """)

    @Option(help: "The process.")
    var pid: Int32

    @Option(help: "Seconds between two looks.")
    var every = 1.0

    @Option(help: "The duration in seconds; 0 runs until it is stopped.")
    var seconds = 0.0

    @Option(help: "How fast its memory may rise, in KiB a minute.")
    var limit: Double?

    @Option(help: "A file that gets the report as JSON besides.")
    var save: String?

    @Option(help: "A file that gets a line a look: seconds, resident and anonymous KiB, threads, files.")
    var trace: String?

    private static let isInterrupted = Atomic<Bool>(false)

    func validate() throws {
        guard (0.01...3_600).contains(every), seconds >= 0, pid > 0 else {
            throw ValidationError("a number is out of range.")
        }
    }

    func run() async throws {
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in WatchCommand.isInterrupted.store(true, ordering: .relaxed) }
        }
        let trace = try trace.map { try Trace(path: $0) }
        let start = ContinuousClock.now
        var samples: [ProcessSample] = []
        var hasEnded = false
        repeat {
            let time = (ContinuousClock.now - start) / .seconds(1)
            guard let sample = ProcessSample(pid: pid, time: time) else {
                hasEnded = true
                break
            }
            samples.append(sample)
            trace?.write(sample)
            await pause(until: start.advanced(by: .seconds(time + every)))
        } while !isOver(since: start)
        guard let report = WatchReport(samples, limit: limit, hasEnded: hasEnded) else {
            throw SimOutput.failure("there is no process \(pid) to look at.")
        }
        if let save { try (report.json + "\n").write(toFile: save, atomically: true, encoding: .utf8) }
        SimOutput.show(report.table)
        if hasEnded { throw SimOutput.failure("the process \(pid) has ended.") }
        if !report.isGood { throw SimOutput.failure("the memory of the process \(pid) rises too fast.") }
    }

    /// Sleeps in short steps, so that a signal takes effect soon.
    private func pause(until time: ContinuousClock.Instant) async {
        while ContinuousClock.now < time, !Self.isInterrupted.load(ordering: .relaxed) {
            let step = ContinuousClock.now.advanced(by: .milliseconds(100))
            try? await Task.sleep(until: min(time, step), clock: .continuous)
        }
    }

    private func isOver(since start: ContinuousClock.Instant) -> Bool {
        Self.isInterrupted.load(ordering: .relaxed)
            || seconds > 0 && ContinuousClock.now - start >= .seconds(seconds)
    }
}

private struct Trace {
    private let file: FileHandle

    init(path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let file = FileHandle(forWritingAtPath: path)
        else { throw SimOutput.failure("\(path) can't be written.") }
        self.file = file
    }

    /// A full disk doesn't stop the watch.
    func write(_ sample: ProcessSample) {
        let numbers = [sample.time, sample.residentKiB, sample.anonymousKiB].map { String(format: "%.1f", $0) }
        let line = (numbers + ["\(sample.threads)", "\(sample.files)"]).joined(separator: "\t")
        try? file.write(contentsOf: Data((line + "\n").utf8))
    }
}
