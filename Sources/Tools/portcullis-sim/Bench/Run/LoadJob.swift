import Foundation
import Glibc

/// One run of `portcullis-sim load` against one server.
struct LoadJob: Sendable {
    var scenario = Scenario.flood
    var clients = 100
    var bytes = 64
    var window = 1
    var isBurst = false
    /// Messages per second and client.
    var rate: Double?
    var seconds: Double
    var warmUpSeconds: Double
    var threads = 1
    var further: [String] = []

    func arguments(for subject: Subject, _ server: Server, _ settings: BenchSettings, target: UInt16) -> [String] {
        var words = [
            "load", "--gateway", "https://localhost:\(server.port)", "--ca", "\(settings.certificates)/server-ca.pem",
            "--scenario", scenario.rawValue, "--clients", "\(clients)", "--size", "\(bytes)", "--window", "\(window)",
            "--seconds", "\(seconds)", "--warm-up", "\(warmUpSeconds)", "--connect-rate", "0", "--connecting", "64",
            "--threads", "\(threads)", "--pid", "\(server.process.pid)", "--json",
        ]
        if isBurst { words.append("--burst") }
        if let rate { words += ["--rate", "\(rate)"] }
        if subject == .haproxy {
            words += ["--transport", "stream"]
        } else if scenario == .flood || scenario == .echo {
            words += ["--transport", "frames"]
        }
        if subject == .portcullisTyped { words += ["--dialect", "typed", "--target", "127.0.0.1:\(target)"] }
        return words + further
    }
}

/// A load that runs in the background.
final class RunningLoad {
    let process: SpawnedProcess
    private let output: String
    private let log: String

    init(_ arguments: [String], name: String, cores: [Int], _ settings: BenchSettings) throws {
        output = "\(settings.folder)/\(name).json"
        log = "\(settings.folder)/\(name).progress"
        process = try SpawnedProcess(settings.tool, arguments, cores: cores, output: output, log: log)
    }

    deinit { process.end() }

    /// Waits until its progress reports a phase.
    func awaitPhase(_ phase: String, seconds: Double) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while Date() < deadline, process.exitCode == nil {
            let lines = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            if lines.split(separator: "\n").contains(where: { $0.hasPrefix(phase + " ") }) { return true }
            usleep(100_000)
        }
        return false
    }

    /// - Returns: nil if the load produced no report.
    func report(seconds: Double) -> LoadReport? {
        if process.waitForExit(seconds: seconds) == nil { process.end() }
        guard let data = FileManager.default.contents(atPath: output) else { return nil }
        return try? JSONDecoder().decode(LoadReport.self, from: data)
    }

    var lastWords: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").last.map(String.init) ?? "no word"
    }
}
