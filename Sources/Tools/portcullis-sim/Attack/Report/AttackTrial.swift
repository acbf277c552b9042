import Foundation

/// One attack against its own gateway, as run by scripts/attack: the measurements without verdicts.
struct AttackTrial: Sendable {
    /// `trial.json`, which the script writes.
    struct Facts: Hashable, Codable, Sendable {
        let name: String
        /// A description of the attack.
        let what: String
        /// The number of source addresses.
        let addresses: Int
        /// Whether the echo of established sessions is judged whatever the attack's size.
        let isEchoAlwaysJudged: Bool
        /// Whether honest clients must not notice the attack at all: echo, its median and connects are judged whatever
        /// its size.
        let isUnnoticed: Bool
        /// The growth of the files.
        let logBytes, auditBytes: UInt64
        let isGatewayAlive: Bool
    }

    let facts: Facts
    /// Reports of honest clients: sessions that echo, new connects, and sessions that are dropped and resumed; nil if
    /// there is no report.
    var echo, connect, flap: LoadReport?
    /// Whether there were clients that drop and resume sessions.
    var hasFlapping = false
    var attackers: [AttackerReport] = []

    /// - Parameter folder: contains `trial.json`, `echo.json`, `connect.json`, optionally `flap.progress` and
    ///   `flap.json`, and `attacker-….json`.
    init(readingFrom folder: String) throws {
        func read<Value: Decodable>(_ type: Value.Type, _ name: String) throws -> Value {
            try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
        }
        facts = try read(Facts.self, "trial.json")
        echo = try? read(LoadReport.self, "echo.json")
        connect = try? read(LoadReport.self, "connect.json")
        flap = try? read(LoadReport.self, "flap.json")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        hasFlapping = files.contains("flap.progress")
        attackers = try files.filter { $0.hasPrefix("attacker-") && $0.hasSuffix(".json") }.sorted()
            .map { try read(AttackerReport.self, $0) }
    }

    init(facts: Facts, echo: LoadReport?, connect: LoadReport?, attackers: [AttackerReport]) {
        self.facts = facts
        self.echo = echo
        self.connect = connect
        self.attackers = attackers
    }
}

/// An attacker's actions and usage: written by `portcullis-sim attack --save` and by the attackers in C
/// (`Tests/Attackers`).
struct AttackerReport: Hashable, Codable, Sendable {
    /// From its first connection to its end.
    let seconds: Double
    /// CPU time in that period, of all its threads and children.
    let cpuSeconds: Double
    let connections, answered, refused: UInt64
    /// Excludes the overhead of TCP and IP.
    let bytesSent, bytesReceived: UInt64

    var cores: Double { seconds > 0 ? cpuSeconds / seconds : 0 }
    var bytesPerSecond: Double { seconds > 0 ? Double(bytesSent) / seconds : 0 }

    var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
