import ArgumentParser
import Foundation
import Glibc
import Logging
import Reactors

struct TextsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "texts",
        abstract: "Sends a gateway of your own text that takes long to normalise, from addresses in 127.0.0.0/8.",
        discussion: """
            Combining marks in the order that makes Unicode normalisation slowest: in bodies, in header fields and the query, or in messages of
            admitted clients. It sends at a fixed rate, and knows no other gateway than one of this machine. scripts/attack measures what it
            costs.
            """)

    @OptionGroup var gateway: DeviceCommand.GatewayOptions

    @Argument(help: "Where the texts stand: bodies, fields or messages.")
    var place: String

    @Option(help: "How long, in seconds.")
    var seconds = 30.0

    @Option(help: "Bytes a second, of all connections together.")
    var rate = 800_000

    @Option(help: "Connections.")
    var connections = 16

    @Option(help: "Addresses that they come from.")
    var addresses = 8

    @Option(parsing: .unconditional, help: "A ticket that admits the messages' clients (see portcullis ticket).")
    var ticket: String?

    @Option(help: "Write the report as JSON to this file.")
    var save: String?

    func validate() throws {
        guard (0.1...3_600).contains(seconds), (1...1_000_000_000).contains(rate), (1...10_000).contains(connections),
            (1...60_000).contains(addresses)
        else { throw ValidationError("a number is out of range.") }
        guard AttackTexts(rawValue: place) != nil else {
            throw ValidationError("there are \(AttackTexts.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
    }

    func run() async throws {
        FileLimit.raise()
        let settings = try settings()
        let reactor = Reactor(index: 0, logger: Logger(label: "texts"))
        try reactor.start()
        let before = ProcessUsage(pid: getpid())?.cpuSeconds ?? 0
        let start = ContinuousClock.now
        let attackers = try await begin(settings, on: reactor)
        SimOutput.say("portcullis-sim: the attack is under way")
        try await Task.sleep(for: .seconds(seconds))
        let counts = await attackers.ask { attackers in
            attackers.reduce(into: AttackCounts()) { counts, attacker in
                attacker.stop()
                counts.merge(attacker.counts)
            }
        }
        SimOutput.say("\(place): \(counts.text)")
        let report = AttackerReport(
            seconds: start.duration(to: .now) / .seconds(1),
            cpuSeconds: (ProcessUsage(pid: getpid())?.cpuSeconds ?? before) - before, connections: counts.opened,
            answered: counts.answers.values.reduce(0, +), refused: counts.notOpened, bytesSent: counts.bytesSent,
            bytesReceived: counts.bytesReceived)
        if let save { try (report.json + "\n").write(toFile: save, atomically: true, encoding: .utf8) }
    }

    private func settings() throws -> [TextAttacker.Settings] {
        var edge = try gateway.settings()
        if edge.host == "localhost" { edge.address = "127.0.0.1" }
        guard (edge.address ?? edge.host).hasPrefix("127.") else {
            throw SimOutput.failure("attacks may target only this machine.", hint: "--gateway https://localhost:6200")
        }
        let packets = try AttackTexts(rawValue: place)?.packets(to: "\(edge.host):\(edge.port)", ticket: ticket) ?? []
        return (0..<connections).map { number in
            let index = number % addresses + 1
            return TextAttacker.Settings(
                edge: edge, packets: packets, rate: Double(rate) / Double(connections),
                source: "127.110.\(index >> 8).\(index & 255)")
        }
    }

    private func begin(_ settings: [TextAttacker.Settings], on reactor: Reactor) async throws
        -> Pinned<[TextAttacker]>
    {
        let made: Result<Pinned<[TextAttacker]>, any Error> = await withCheckedContinuation { continuation in
            reactor.submit {
                continuation.resume(
                    returning: Result {
                        let attackers = try settings.enumerated().map { number, settings in
                            let edge = settings.edge
                            let tls =
                                edge.isTLS
                                ? try TargetTLS(TargetTLSSettings(mode: .required, caPath: edge.caPath)) : nil
                            let attacker = TextAttacker(settings, number: number, on: reactor, tls: tls)
                            attacker.begin()
                            // Never released: connections and timers call it until the process ends.
                            return Unmanaged.passRetained(attacker).takeUnretainedValue()
                        }
                        return Pinned(attackers, to: reactor)
                    })
            }
        }
        return try made.get()
    }
}
