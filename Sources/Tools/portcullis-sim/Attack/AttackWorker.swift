import Reactors

/// The settings of an attack's reactors.
struct AttackSettings: Sendable {
    var edge: EdgeClientSettings
    var messages: AttackMessages
    /// Concurrent connections, of all reactors together.
    var connections: [AttackKind: Int]
    /// The number of addresses of each kind.
    var addresses: Int
    /// Those of admitted clients.
    var clientAddresses: Int
    /// The total number of upgrades.
    var maximumUpgrades: UInt64
}

/// The attackers of one reactor. Reactor thread only; it lives as long as the process.
final class AttackWorker {
    let reactor: Reactor
    let settings: AttackSettings
    let tls: TargetTLS?
    var counts: [AttackKind: AttackCounts] = [:]
    private(set) var isOver = false
    private var attackers: [Attacker] = []
    private var upgradesLeft: UInt64

    init(on reactor: Reactor, settings: AttackSettings, thread: Int, of threads: Int) throws {
        self.reactor = reactor
        self.settings = settings
        tls =
            settings.edge.isTLS ? try TargetTLS(TargetTLSSettings(mode: .required, caPath: settings.edge.caPath)) : nil
        upgradesLeft = settings.maximumUpgrades / UInt64(threads)
        attackers = AttackKind.allCases.flatMap { kind in
            stride(from: thread, to: settings.connections[kind] ?? 0, by: threads)
                .map { Attacker(kind, number: $0, worker: self) }
        }
    }

    /// Every attacker is connected or was refused.
    var hasBegun: Bool { attackers.allSatisfy(\.hasBegun) }

    func begin() {
        for attacker in attackers { attacker.begin() }
    }

    func stop() {
        isOver = true
        for attacker in attackers { attacker.stop() }
    }

    /// Whether another connection of this kind may be opened.
    func mayOpen(_ kind: AttackKind) -> Bool {
        guard kind == .upgrades else { return true }
        guard upgradesLeft > 0 else { return false }
        upgradesLeft -= 1
        return true
    }
}
