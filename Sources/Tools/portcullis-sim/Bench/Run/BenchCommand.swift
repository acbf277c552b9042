import ArgumentParser
import Foundation

struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compares a gateway with a relay in C and other programs, in interleaved rounds.",
        discussion: """
            scripts/bench builds what this needs, finds the others, and calls it. The measured programs run on core 0 with one thread, load and
            target on core 1. What --only names: messages, latency, connects, tokens, idle, allocations, reactors.
            """)

    @Option(help: "The gateway's program.")
    var portcullis: String

    @Option(help: "Another build of the gateway, measured in the same rounds.")
    var earlier: String?

    @Option(help: "The relay in C that everything is held against.")
    var floor: String?

    @Option(help: "A library that counts allocations and system calls when it is preloaded.")
    var allocationCounter: String?

    @Option(
        help:
            "Another program that is measured, as NAME=PATH: haproxy, websocat or websockify; may be given several times."
    )
    var peer: [String] = []

    @Option(help: "Its version, as NAME=VERSION.")
    var peerVersion: [String] = []

    @Option(help: "STORE_URL of a PostgreSQL database with a fleet's tables, for sign-ins.")
    var database: String?

    @Option(help: "Its STORE_SECRETS_KEY_PATH.")
    var databaseKey: String?

    @Option(help: "Its server's process.")
    var databasePid: Int32?

    @Option(help: "The folder of scripts/make-dev-certs.")
    var certificates: String

    @Option(help: "A folder with an authority's files and the certificate in the peers' forms; for logs besides.")
    var state: String

    @Option(help: "The folder that gets results.json, results.md and results.svg.")
    var out: String

    @Flag(help: "Shorter, with fewer rounds.")
    var quick = false

    @Option(parsing: .upToNextOption, help: "Parts to measure; all without it.")
    var only: [String] = []

    func run() throws {
        FileLimit.raise()
        let parts = try only.map { name in
            guard let part = BenchRun.Part(rawValue: name) else {
                let names = BenchRun.Part.allCases.map(\.rawValue).joined(separator: ", ")
                throw SimOutput.failure("there is no part \(name).", hint: "the parts are \(names).")
            }
            return part
        }
        let settings = try settings()
        guard settings.coreCount >= 2 else {
            throw SimOutput.failure(
                "a benchmark needs two cores: one for the measured program, one for the load generator.")
        }
        let bench = BenchRun(settings)
        try bench.run(parts.isEmpty ? Set(BenchRun.Part.allCases) : Set(parts))
        try save(report(bench))
    }

    private func settings() throws -> BenchSettings {
        var peers: [Subject: String] = [:]
        for (name, path) in try pairs(peer, "--peer") {
            guard let subject = Subject(rawValue: name) else { throw SimOutput.failure("--peer has no \(name).") }
            peers[subject] = path
        }
        return BenchSettings(
            gateway: portcullis, earlier: earlier, tool: try ownPath(), floor: floor,
            allocationCounter: allocationCounter, peers: peers, database: try databaseOptions(),
            certificates: certificates, folder: state, plan: quick ? .quick : .full)
    }

    private func databaseOptions() throws -> BenchSettings.Database? {
        switch (database, databaseKey, databasePid) {
        case (nil, nil, nil): return nil
        case (let url?, let keyPath?, let pid?): return BenchSettings.Database(url: url, keyPath: keyPath, pid: pid)
        default: throw SimOutput.failure("--database, --database-key and --database-pid go together.")
        }
    }

    private func report(_ bench: BenchRun) throws -> BenchReport {
        let settings = bench.settings
        let circumstances = GoalList.Circumstances(
            absent: Set(Subject.allCases.filter { !settings.has($0) }), cores: settings.coreCount,
            idleSessions: settings.plan.idleSessions, hasDatabase: settings.database != nil)
        return BenchReport(
            bench.results, goals: GoalList.goals(bench.results, circumstances), isQuick: quick, machine: .here,
            versions: try pairs(peerVersion, "--peer-version"), date: Date.now.formatted(.iso8601.year().month().day()))
    }

    private func save(_ report: BenchReport) throws {
        try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
        for (name, text) in [("json", try report.json), ("md", report.markdown), ("svg", report.chart)] {
            try text.write(toFile: "\(out)/results.\(name)", atomically: true, encoding: .utf8)
        }
        SimOutput.show("\n" + report.text)
        SimOutput.say("\nbench: saved \(out)/results.json, results.md and results.svg")
    }

    private func pairs(_ words: [String], _ option: String) throws -> [String: String] {
        var pairs: [String: String] = [:]
        for word in words {
            guard let equals = word.firstIndex(of: "=") else { throw SimOutput.failure("\(option) takes NAME=VALUE.") }
            pairs[String(word[..<equals])] = String(word[word.index(after: equals)...])
        }
        return pairs
    }

    private func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
