import Foundation

/// One attack against a gateway of its own, as scripts/attack has run it: what was measured, and nothing judged.
struct AttackTrial: Sendable {
    /// `trial.json`, which the script writes.
    struct Facts: Hashable, Codable, Sendable {
        let name: String
        /// What the attackers do, in words.
        let what: String
        /// From how many addresses.
        let addresses: Int
        /// Whether the echo of sessions that stand is judged whatever the attack's size.
        let isEchoAlwaysJudged: Bool
        /// By how much the files have grown.
        let logBytes, auditBytes: UInt64
        let isGatewayAlive: Bool
    }

    let facts: Facts
    /// Of honest clients: sessions that echo, new connects, and sessions that are left and resumed; nil where there is no report.
    var echo, connect, flap: LoadReport?
    /// Whether the last were there at all.
    var hasFlapping = false
    var attackers: [AttackerReport] = []

    /// - Parameter folder: with `trial.json`, `echo.json`, `connect.json`, maybe `flap.progress` and `flap.json`, and `attacker-….json`.
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
