import Reactors

/// What an attack's reactors have to know.
struct AttackSettings: Sendable {
    var edge: EdgeClientSettings
    var messages: AttackMessages
    /// Connections at once, of all reactors together.
    var connections: [AttackKind: Int]
    /// How many addresses each kind comes from.
    var addresses: Int
    /// Upgrades in all.
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

    /// Every place is taken, or was refused.
    var hasBegun: Bool { attackers.allSatisfy(\.hasBegun) }

    func begin() {
        for attacker in attackers { attacker.begin() }
    }

    func stop() {
        isOver = true
        for attacker in attackers { attacker.stop() }
    }

    /// Whether there is another one to be made.
    func mayOpen(_ kind: AttackKind) -> Bool {
        guard kind == .upgrades else { return true }
        guard upgradesLeft > 0 else { return false }
        upgradesLeft -= 1
        return true
    }
}
