import Foundation

/// A whole benchmark: the scenarios one after another, each with its own servers. Synchronous, because nothing else
/// runs meanwhile.
final class BenchRun {
    /// The parts that `--only` names.
    enum Part: String, CaseIterable, Sendable {
        case messages
        case latency
        case connects
        case tokens
        case idle
        case allocations
        case reactors
    }

    let settings: BenchSettings
    var results = BenchResults()
    private let start = Date()
    private var jobs = 0
    /// The remaining time for repeated runs.
    private lazy var repeatSeconds = settings.plan.repeatSeconds

    init(_ settings: BenchSettings) {
        self.settings = settings
    }

    var plan: BenchPlan { settings.plan }

    func run(_ parts: Set<Part>) throws {
        if parts.contains(.messages) { try measureMessages() }
        if parts.contains(.latency) { try measureLatency() }
        if parts.contains(.connects) { try measureConnects() }
        if parts.contains(.tokens) {
            try measureTokens()
            // When the servers of the others have ended: their housekeeping writes, too.
            try measureRefreshAmongMany()
        }
        if parts.contains(.allocations) { try measureAllocations() }
        if parts.contains(.idle) { try measureIdleSessions() }
        if parts.contains(.reactors), settings.coreCount >= 4 { try measureReactors() }
    }

    // MARK: What the parts share

    func say(_ text: String) {
        let seconds = Int(Date().timeIntervalSince(start))
        SimOutput.say(String(format: "bench: %3d s  %@", seconds, text))
    }

    func job(_ scenario: Scenario, clients: Int = 100, bytes: Int = 64, window: Int = 1) -> LoadJob {
        LoadJob(
            scenario: scenario, clients: clients, bytes: bytes, window: window, seconds: plan.seconds,
            warmUpSeconds: plan.warmUpSeconds)
    }

    /// Runs a load to its end; repeats it if other processes disturbed it, as long as there is time.
    ///
    /// - Returns: nil if the load lost or missed anything: its figures would be meaningless.
    func load(
        _ job: LoadJob, on subject: Subject, _ server: Server, _ room: ServerRoom, cores: [Int]? = nil
    ) throws -> LoadReport? {
        var best: (report: LoadReport, disturbance: Double)?
        while true {
            let begin = Date()
            // Processes of websockify that have ended can't be queried.
            let disturbance = Disturbance(
                [server.process.pid, room.target.process.pid] + (settings.database.map { [$0.pid] } ?? []))
            let running = try startLoad(job, on: subject, server, room, cores: cores)
            guard let report = finish(running, job, subject) else { return best?.report }
            let share = subject == .websockify ? 0 : disturbance.share(besides: running.process) ?? 0
            if share < best?.disturbance ?? .infinity { best = (report, share) }
            guard share > Disturbance.tolerated else { break }
            repeatSeconds -= Date().timeIntervalSince(begin)
            if repeatSeconds < 0 {
                results.note("Others worked on this machine meanwhile: not every run could be repeated.")
                break
            }
        }
        return best?.report
    }

    private func finish(_ running: RunningLoad, _ job: LoadJob, _ subject: Subject) -> LoadReport? {
        let report = running.report(seconds: job.seconds + job.warmUpSeconds + 120)
        if let report, report.isGood { return report }
        let errors = report?.errors.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } ?? []
        results.note(
            "\(subject.title), \(Cell.flood(bytes: job.bytes, clients: job.clients, window: job.window)) "
                + "(\(job.scenario.rawValue)): no figure, \(errors.isEmpty ? running.lastWords : errors.joined(separator: ", "))"
        )
        return nil
    }

    func startLoad(
        _ job: LoadJob, on subject: Subject, _ server: Server, _ room: ServerRoom, cores: [Int]? = nil
    ) throws -> RunningLoad {
        jobs += 1
        return try RunningLoad(
            job.arguments(for: subject, server, settings, target: room.target.port), name: "load-\(jobs)",
            cores: cores ?? settings.loadCore, settings)
    }

    /// The figures of a run that carries messages.
    func recordMessages(_ report: LoadReport?, _ subject: Subject, _ cell: String, round: Int) {
        guard let report, let process = report.gatewayProcess else { return }
        results.record(process.cpuMicrosecondsPerMessage, .cpuPerMessage, of: subject, cell, round: round)
        results.record(report.traffic.messagesPerSecond, .messagesPerSecond, of: subject, cell, round: round)
        results.record(process.cpuPercent, .coreLoad, of: subject, cell, round: round)
        let latency = report.traffic.latencyMicroseconds
        results.record(latency?.p50, .latencyP50, of: subject, cell, round: round)
        results.record(latency?.p99, .latencyP99, of: subject, cell, round: round)
    }
}
