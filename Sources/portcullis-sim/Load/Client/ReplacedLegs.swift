import Reactors

/// Connections whose clients have gone on to others while they stood: they have to be told so, by a Close with 1008. Reactor thread only.
final class ReplacedLegs {
    static let code: UInt16 = 1008
    /// A connection that was not told by then is a fault; younger ones may still be, when the run is over.
    private static let patienceNanoseconds: UInt64 = 15_000_000_000

    private var waiting: [ObjectIdentifier: (leg: ClientLeg, since: UInt64)] = [:]
    /// Those that were told so.
    private(set) var told: UInt64 = 0
    private(set) var untold: UInt64 = 0

    func `await`(_ leg: ClientLeg, since now: UInt64) {
        leg.replacements = self
        waiting[ObjectIdentifier(leg)] = (leg, now)
    }

    func ended(_ leg: ClientLeg) {
        guard waiting.removeValue(forKey: ObjectIdentifier(leg)) != nil else { return }
        if leg.ending == .closed(code: Self.code) { told += 1 } else { untold += 1 }
    }

    func finish(at now: UInt64) {
        let rest = waiting.values
        waiting = [:]
        untold += UInt64(rest.count { now - $0.since > Self.patienceNanoseconds })
        for entry in rest { entry.leg.transport?.drop() }
    }
}
