/// The gateways of a fleet that are silent toward the store, as one gateway knows them: those whose heartbeats have
/// stopped, and those whose rows the store has lost with its incarnation and which haven't come back.
///
/// Silence alone proves nothing: a gateway that has only lost its database goes on with its sessions. So others connect
/// to it, and it is gone if nothing listens where it was.
package struct SilentGateways: Sendable {
    /// A gateway that is silent for so long is given up, though something still listens: it hangs.
    package static let givenUpAfter: Int64 = 60_000
    /// So many attempts to connect, one after another, have to fail: one may fail for a reason of this machine's.
    package static let failuresUntilGone = 2

    /// Connections under way at the same time: whoever may write the rows chooses where they lead.
    package static let maximumAttempts = 64

    private struct Silent {
        let address: String?
        /// In the store's time.
        let since: Int64
        /// The store has lost its row.
        var isLost: Bool
        var isGone = false
        var failures = 0
    }

    private var silent: [String: Silent] = [:]
    /// Gateways that were alive in the last view, and their addresses.
    private var known: [String: String?] = [:]
    private var incarnation: StoreIncarnation?

    package init() {}

    /// Nothing listens there any more, or it is given up.
    package func isGone(_ id: String) -> Bool { silent[id]?.isGone ?? false }

    /// It is silent, and may still have its sessions.
    package func mayLive(_ id: String) -> Bool { silent[id].map { !$0.isGone } ?? false }

    /// Whose rows the store has lost.
    package var lost: [String] { silent.filter(\.value.isLost).map(\.key) }

    /// Where a silent gateway was.
    package func address(of id: String) -> String? { silent[id].flatMap(\.address) }

    /// Takes a new view of the store.
    ///
    /// - Parameter own: this gateway's id.
    /// - Returns: whom to connect to, with the addresses.
    package mutating func note(_ view: GatewayMembers, own: String) -> [(id: String, address: String)] {
        let alive = view.alive(at: view.readAt)
        if view.incarnation != incarnation { noteLoss(view, own: own) }
        forget(view, alive)
        if view.isSettled {
            for member in view.members where member.id != own && !view.isAlive(member, at: view.readAt) {
                add(member.id, member.report.address, at: view.readAt, isLost: false)
            }
        }
        incarnation = view.incarnation
        known = Dictionary(alive.map { ($0.id, $0.report.address) }) { first, _ in first }
        return ask(alive, at: view.readAt)
    }

    /// The store has lost its rows: who isn't back yet may only be slow.
    private mutating func noteLoss(_ view: GatewayMembers, own: String) {
        let present = Set(view.members.map(\.id))
        for id in silent.keys where !present.contains(id) { silent[id]?.isLost = true }
        for (id, address) in known where id != own && !present.contains(id) {
            add(id, address, at: view.readAt, isLost: true)
        }
    }

    private mutating func add(_ id: String, _ address: String?, at time: Int64, isLost: Bool) {
        if silent[id] == nil { silent[id] = Silent(address: address, since: time, isLost: isLost) }
    }

    /// Those that are back, and those that have left or that the store has forgotten.
    private mutating func forget(_ view: GatewayMembers, _ alive: [GatewayMember]) {
        for member in alive { silent[member.id] = nil }
        let present = Set(view.members.map(\.id))
        for (id, one) in silent where !one.isLost && !present.contains(id) { silent[id] = nil }
        for (id, one) in silent where one.isLost && view.readAt - one.since > GatewayMembers.forgottenAfter {
            silent[id] = nil
        }
    }

    private mutating func ask(_ alive: [GatewayMember], at time: Int64) -> [(id: String, address: String)] {
        var asked: [(id: String, address: String)] = []
        let taken = Set(alive.compactMap(\.report.address))
        for (id, one) in silent where !one.isGone {
            // Where another gateway is now, this one isn't any more.
            if let address = one.address, !taken.contains(address), time - one.since <= Self.givenUpAfter {
                asked.append((id, address))
            } else {
                silent[id]?.isGone = true
            }
        }
        return asked
    }

    /// Something listens where the gateway was.
    package mutating func answered(at id: String) { silent[id]?.failures = 0 }

    /// Nothing listened there at this attempt.
    ///
    /// - Returns: whether the gateway is gone from now on.
    package mutating func nobodyAnswered(at id: String) -> Bool {
        guard let one = silent[id], !one.isGone else { return false }
        silent[id]?.failures = one.failures + 1
        guard one.failures + 1 >= Self.failuresUntilGone else { return false }
        silent[id]?.isGone = true
        return true
    }
}
