import Reactors

/// Connections whose clients have moved to other connections while these were open: the gateway must close them with 1008. Reactor
/// thread only.
final class ReplacedLegs {
    static let code: UInt16 = 1008
    /// A connection that hasn't been closed by then is an error; younger ones may still be pending when the run ends.
    private static let patienceNanoseconds: UInt64 = 15_000_000_000

    private var waiting: [ObjectIdentifier: (leg: ClientLeg, since: UInt64)] = [:]
    /// The number of connections that were closed with 1008.
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
