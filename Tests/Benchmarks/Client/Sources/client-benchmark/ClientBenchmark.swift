import Foundation
import PortcullisClient
import PortcullisClientNIO

/// Measures the client library as an app uses it: how fast it reads, how soon it is back after a cut, and whether it
/// grows.
@main
struct ClientBenchmark {
    static func main() async {
        do {
            let options = try Options(Array(CommandLine.arguments.dropFirst()))
            if options.isService { try Service().run() }
            try await measure(options)
        } catch { fail("\(error)") }
    }

    private static func measure(_ options: Options) async throws {
        var report = Report()
        let direct = GateClient(configuration: try options.configuration(options.gate), platform: try platform(options))
        report.add(try await Throughput(rounds: options.rounds).measure(direct, ticket: options.ticket))

        let cutter = try Cutter(port: options.front, to: options.gatePort)
        let front = "https://localhost:\(options.front)"
        let patient = GateClient(configuration: try options.configuration(front), platform: try platform(options))
        let cuts = Cuts(.number(options.cuts), pause: 0.5...1.5, cutter)
        let resumes = try await cuts.play(patient)
        report.add(resumes: resumes)

        var hurried = try options.configuration(front)
        // Without the default's pauses, which spare batteries and gateways.
        hurried.reconnection.burst = 1e9
        let restless = GateClient(configuration: hurried, platform: try platform(options))
        let growth = try await Cuts(.seconds(options.minutes * 60), pause: 0...0.1, cutter).play(restless)
        report.add(growth: growth)
        report.print()
        guard resumes.isComplete, growth.isComplete else { fail("output was lost, doubled or wrong") }
    }

    private static func platform(_ options: Options) throws -> ClientPlatform {
        ClientPlatform(transport: try NIOTransport(trust: try options.trust))
    }

    static func note(_ text: String) { FileHandle.standardError.write(Data("client-benchmark: \(text)\n".utf8)) }

    private static func fail(_ text: String) -> Never {
        note("error: \(text)")
        exit(1)
    }
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
