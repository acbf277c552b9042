import ArgumentParser
import Foundation
import Glibc
import Logging
import Reactors

struct AttackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attack",
        abstract: "Floods a gateway of your own in seven ways at once, from addresses in 127.0.0.0/8.",
        discussion: """
            Upgrades that are refused, TLS handshakes that stop in the middle, headers that come by the byte, WebSocket frames without end from one
            address, requests for challenges, requests that are refused, on connections that stay, and sessions with a MUD that floods. It knows no other gateway than one of this machine. How honest clients fare meanwhile
            portcullis-sim load tells; scripts/attack puts the two together.
            """)

    @OptionGroup var gateway: DeviceCommand.GatewayOptions

    @Option(help: "How long, in seconds.")
    var seconds = 30.0

    @Option(help: "Bad upgrades in all; 0 for none.")
    var upgrades: UInt64 = 100_000

    @Option(help: "Concurrent bad upgrades.")
    var upgradeConnections = 32

    @Option(help: "Concurrent half-open TLS handshakes.")
    var halfOpen = 1_000

    @Option(help: "Simultaneous requests that send one header byte a second.")
    var slowHeaders = 500

    @Option(help: "Connections from one address that send frames.")
    var flooders = 8

    @Option(help: "What they send: \(FrameFlood.allCases.map(\.rawValue).joined(separator: ", ")).")
    var frames = FrameFlood.mixed

    @Option(help: "Sessions with the MUD of --route.")
    var muds = 0

    @Option(help: "A route of the gateway (see portcullis-sim echo --flood).")
    var route = "flood"

    @Option(help: "Addresses that these two kinds come from.")
    var clientAddresses = 1

    @Option(parsing: .unconditional, help: "A ticket that admits them, where one is needed (see portcullis ticket).")
    var ticket: String?

    @Option(help: "Connections that ask for challenges.")
    var challengers = 16

    @Option(help: "Connections that make requests which are refused.")
    var refusals = 8

    @Option(help: "Addresses that each other kind comes from.")
    var addresses = 8

    @Option(help: "Reactors of this tool.")
    var threads = 1

    @Option(help: "Write the report as JSON to this file.")
    var save: String?

    func validate() throws {
        let numbers = [upgradeConnections, halfOpen, slowHeaders, flooders, challengers, refusals, muds]
        guard (0.1...3_600).contains(seconds), numbers.allSatisfy({ (0...100_000).contains($0) }),
            (1...60_000).contains(addresses), (1...60_000).contains(clientAddresses), (1...256).contains(threads)
        else { throw ValidationError("a number is out of range.") }
    }

    func run() async throws {
        FileLimit.raise()
        let workers = try await makeWorkers(try settings())
        let start = ContinuousClock.now
        let before = ProcessUsage(pid: getpid())?.cpuSeconds ?? 0
        for worker in workers { await worker.ask { $0.begin() } }
        let end = ContinuousClock.now.advanced(by: .seconds(seconds))
        var hasStood = false
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(100))
            guard !hasStood else { continue }
            hasStood = true
            for worker in workers where await !worker.ask({ $0.hasBegun }) { hasStood = false }
            if hasStood { SimOutput.say("portcullis-sim: the attack is under way") }
        }
        var counts: [AttackKind: AttackCounts] = [:]
        for worker in workers {
            for (kind, some) in await worker.ask({ $0.counts }) { counts[kind, default: AttackCounts()].merge(some) }
            await worker.ask { $0.stop() }
        }
        for kind in AttackKind.allCases {
            guard let count = counts[kind] else { continue }
            SimOutput.say("\(kind.rawValue.padded(to: 12))\(count.text)")
        }
        if let save { try report(counts, since: start, before).write(toFile: save, atomically: true, encoding: .utf8) }
    }

    private func report(
        _ counts: [AttackKind: AttackCounts], since start: ContinuousClock.Instant, _ cpuSeconds: Double
    ) throws -> String {
        var all = AttackCounts()
        for count in counts.values { all.merge(count) }
        let report = AttackerReport(
            seconds: start.duration(to: .now) / .seconds(1),
            cpuSeconds: (ProcessUsage(pid: getpid())?.cpuSeconds ?? cpuSeconds) - cpuSeconds,
            connections: all.opened, answered: all.answers.values.reduce(0, +), refused: all.notOpened,
            bytesSent: all.bytesSent, bytesReceived: all.bytesReceived)
        return try report.json + "\n"
    }

    private func settings() throws -> AttackSettings {
        var edge = try gateway.settings()
        if edge.host == "localhost" { edge.address = "127.0.0.1" }
        guard (edge.address ?? edge.host).hasPrefix("127.") else {
            throw SimOutput.failure("attacks may target only this machine.", hint: "--gateway https://localhost:6200")
        }
        return AttackSettings(
            edge: edge,
            messages: AttackMessages(
                authority: "\(edge.host):\(edge.port)", ticket: ticket, flood: frames, route: route),
            connections: [
                .upgrades: upgrades > 0 ? upgradeConnections : 0, .handshakes: halfOpen, .headers: slowHeaders,
                .frames: flooders, .challenges: challengers, .refusals: refusals, .muds: muds,
            ], addresses: addresses, clientAddresses: clientAddresses, maximumUpgrades: upgrades)
    }

    private func makeWorkers(_ settings: AttackSettings) async throws -> [Pinned<AttackWorker>] {
        var workers: [Pinned<AttackWorker>] = []
        for thread in 0..<threads {
            let reactor = Reactor(index: thread, logger: Logger(label: "attack"))
            try reactor.start()
            let made: Result<Pinned<AttackWorker>, any Error> = await withCheckedContinuation { continuation in
                reactor.submit { [threads] in
                    continuation.resume(
                        returning: Result {
                            let worker = try AttackWorker(on: reactor, settings: settings, thread: thread, of: threads)
                            // Never released: connections and timers call it until the process ends.
                            return Pinned(Unmanaged.passRetained(worker).takeUnretainedValue(), to: reactor)
                        })
                }
            }
            workers.append(try made.get())
        }
        return workers
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(width - count, 0))
    }
}
