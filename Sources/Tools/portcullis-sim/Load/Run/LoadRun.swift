import DeviceSimulation
import Glibc
import Reactors
import Synchronization

/// A run from the first connection to the report. It asks each reactor for the data that belongs to it.
struct LoadRun {
    let settings: LoadSettings
    let workers: [Pinned<LoadWorker>]
    let gatewayPID: Int32?
    let counterPath: String?
    let tolerated: Set<ErrorKind>
    let gatewayName: String
    let progress: ProgressOutput

    /// The time to wait for the last answers and the closing handshakes.
    private static let drainSeconds = 30.0
    private static let closeSeconds = 3.0
    /// More time than first connections should need.
    private static let rampSlackSeconds = 60.0

    /// Set by SIGINT: the run ends early and is reported.
    static let isInterrupted = Atomic<Bool>(false)

    func run() async throws -> LoadReport {
        let start = Reactor.monotonicNow
        await tell { $0.connectAll() }
        if settings.scenario != .connect { await awaitConnections(since: start) }
        let window = await measure()
        await tell { $0.stopTraffic() }
        await wait(Self.drainSeconds, "finishing") { $0.clientsQuiet == settings.clients }
        await tell { $0.finish() }
        await wait(Self.closeSeconds, "closing") { $0.connected <= 0 }
        progress.end()
        return report(window, all: await snapshot(), start: start)
    }

    // MARK: Phases

    private func awaitConnections(since start: UInt64) async {
        let needed = settings.connectRate.map { Double(settings.clients) / $0 } ?? 0
        await wait(needed + Self.rampSlackSeconds, "connecting") {
            $0.clientsTried == settings.clients
        }
    }

    private struct Window {
        var before = LoadStatistics()
        var after = LoadStatistics()
        var seconds = 0.0
        var counted: UInt64?
        var gateway = ProcessUsageRecord()
        var own = ProcessUsageRecord()

        mutating func sample(_ gatewayTree: ProcessTree?) {
            if let usage = gatewayTree?.usage { gateway.add(usage) }
            if let usage = ProcessUsage(pid: getpid()) { own.add(usage) }
        }
    }

    private func measure() async -> Window {
        let begin = Reactor.monotonicNow
        await tell { $0.startTraffic(at: begin) }
        await wait(settings.warmUpSeconds, "warming up") { _ in false }
        await tell { $0.startMeasuring() }
        var window = Window()
        let gatewayTree = gatewayPID.flatMap { ProcessTree(root: $0) }
        let countedBefore = counterPath.flatMap { ProcessCounter.value(at: $0) }
        window.before = await snapshot()
        window.sample(gatewayTree)
        let start = Reactor.monotonicNow
        await wait(settings.seconds, settings.scenario.rawValue) { _ in
            window.sample(gatewayTree)
            return false
        }
        window.sample(gatewayTree)
        window.after = await snapshot()
        window.seconds = seconds(from: start, to: Reactor.monotonicNow)
        if let countedBefore, let now = counterPath.flatMap({ ProcessCounter.value(at: $0) }) {
            window.counted = now - countedBefore
        }
        return window
    }

    /// Waits until `isDone` returns true, `limit` seconds have passed or the user interrupts; shows progress.
    private func wait(_ limit: Double, _ phase: String, isDone: (LoadStatistics) -> Bool) async {
        let start = Reactor.monotonicNow
        var before = await snapshot()
        var last = start
        while !isDone(before), seconds(from: start, to: Reactor.monotonicNow) < limit,
            !Self.hasBeenInterrupted(in: phase)
        {
            let left = limit - seconds(from: start, to: Reactor.monotonicNow)
            try? await Task.sleep(for: .seconds(max(min(left, phase == "closing" ? 0.1 : 0.5), 0.001)))
            let now = await snapshot()
            let time = Reactor.monotonicNow
            progress.show(
                ProgressLine(
                    phase: phase, elapsed: seconds(from: start, to: time), clients: settings.clients, now: now,
                    before: before, interval: max(seconds(from: last, to: time), 0.001)))
            before = now
            last = time
        }
    }

    /// An interrupt doesn't stop the cleanup phases.
    private static func hasBeenInterrupted(in phase: String) -> Bool {
        isInterrupted.load(ordering: .relaxed) && phase != "closing" && phase != "finishing"
    }

    private func seconds(from start: UInt64, to end: UInt64) -> Double { end > start ? Double(end - start) / 1e9 : 0 }

    // MARK: Workers

    private func tell(_ order: @escaping @Sendable (LoadWorker) -> Void) async {
        for worker in workers { await worker.ask(order) }
    }

    private func snapshot() async -> LoadStatistics {
        var parts: [LoadStatistics] = []
        for worker in workers { parts.append(await worker.ask { $0.snapshot }) }
        return LoadStatistics.sum(of: parts)
    }

    // MARK: The report

    private func report(_ window: Window, all: LoadStatistics, start: UInt64) -> LoadReport {
        let isStorm = settings.scenario == .connect
        let connects = isStorm ? window.after.connects - window.before.connects : window.before.connects
        let connectSeconds = isStorm ? window.seconds : seconds(from: start, to: window.before.lastFirstConnect)
        let answered = window.after.messagesAnswered - window.before.messagesAnswered
        let bytesUp = window.after.bytesSent - window.before.bytesSent
        let bytesDown = window.after.bytesReceived - window.before.bytesReceived
        let wrong = all.errors.without(tolerated)
        return LoadReport(
            scenario: settings.scenario.rawValue, gateway: gatewayName, clients: settings.clients,
            seconds: window.seconds,
            connects: LoadReport.Connects(
                opened: all.connects, failed: all.failedConnects,
                perSecond: Double(connects) / max(connectSeconds, 1e-9),
                seconds: connectSeconds, latencyMicroseconds: all.connectLatency.summary),
            traffic: LoadReport.Traffic(
                messagesSent: window.after.messagesSent - window.before.messagesSent, messagesAnswered: answered,
                bytesSent: bytesUp, bytesReceived: bytesDown, messagesPerSecond: Double(answered) / window.seconds,
                megabytesPerSecondUp: Double(bytesUp) / window.seconds / 1e6,
                megabytesPerSecondDown: Double(bytesDown) / window.seconds / 1e6,
                latencyMicroseconds: all.latency.summary),
            flapping: settings.scenario == .flap ? flapping(all) : nil,
            gatewayProcess: window.gateway.report(
                seconds: window.seconds, messages: answered, connects: isStorm ? connects : 0,
                counted: window.counted),
            ownProcess: window.own.report(
                seconds: window.seconds, messages: answered, connects: isStorm ? connects : 0),
            errors: Dictionary(uniqueKeysWithValues: all.errors.counts.map { ($0.key.rawValue, $0.value) }),
            tolerated: tolerated.map(\.rawValue).sorted(), isGood: wrong.isEmpty && all.connects > 0)
    }

    private func flapping(_ all: LoadStatistics) -> LoadReport.Flapping {
        LoadReport.Flapping(
            vanished: all.vanished, answersLost: all.answersLost, resumed: all.resumed, takenOver: all.takenOver,
            overtaken: all.overtaken,
            postponed: all.postponed, begun: all.begun, begunAnew: all.begunAnew, abandonedBytes: all.abandonedBytes,
            unclaimed: all.unclaimed, gaps: all.gaps, gapBytes: all.gapBytes, checkedBytes: all.checkedBytes)
    }
}

extension Pinned {
    /// Runs `question` on the reactor's thread.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (Value) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            reactor.submit { continuation.resume(returning: question(value)) }
        }
    }
}
