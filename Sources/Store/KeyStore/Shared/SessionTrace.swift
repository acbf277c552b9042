/// What a fleet's store knows of one session, read in one moment. Decides what that means.
///
/// A session's row is written before its client knows the session, and stays until the session ends or the store has
/// forgotten its gateway. So a missing row means that there is no such session, but for two cases: the store has lost
/// its rows with its incarnation, and a gateway that couldn't write for so long that its client was told all the same.
/// A gateway of which either may be true is in doubt.
package struct SessionTrace: Hashable, Sendable {
    /// A gateway that hasn't found for so long that its sessions are announced is in doubt: two beats.
    package static let lateAfter: Int64 = 2_000
    /// A gateway says that its sessions aren't announced if a row has waited for so long.
    package static let overdueAfter: Int64 = 1_000
    /// A client is told of its session after so long at the latest, whether it has its row or not. Whoever asks from
    /// then on finds a heartbeat that says so, or none that was made within ``lateAfter``.
    package static let toldAfter = lateAfter + overdueAfter

    package struct Holder: Hashable, Sendable {
        package let id: String
        /// `host:port`; nil: it has none, or isn't among the gateways any more.
        package let address: String?
        /// Milliseconds since its heartbeat; nil: it isn't among the gateways any more.
        package let silence: Int64?

        package init(id: String, address: String?, silence: Int64?) {
            self.id = id
            self.address = address
            self.silence = silence
        }
    }

    package let holder: Holder?
    /// Milliseconds since the store's incarnation began.
    package let lived: Int64
    /// Gateways that may have sessions without rows, if nobody has this one.
    package let doubtful: [String]

    package init(holder: Holder?, lived: Int64, doubtful: [String]) {
        self.holder = holder
        self.lived = lived
        self.doubtful = doubtful
    }

    package enum Verdict: Hashable, Sendable {
        /// - Parameter address: nil: other gateways don't reach it.
        case at(gateway: String, address: String?)
        /// There is no such session, or it was lost with its gateway.
        case gone
        /// Not to be said now.
        case undecided(String)
    }

    /// - Parameter silent: what the gateway that asks has found out by connecting to others.
    package func verdict(_ silent: SilentGateways) -> Verdict {
        guard let holder else { return verdictWithoutRow(silent) }
        if let silence = holder.silence {
            let isGone = silence > GatewayMembers.deadAfter && silent.isGone(holder.id)
            return isGone ? .gone : .at(gateway: holder.id, address: holder.address)
        }
        // Its row is written before those of its sessions, and a gateway that is alive has one again at once.
        if silent.mayLive(holder.id) { return .at(gateway: holder.id, address: silent.address(of: holder.id)) }
        return hasSettled ? .gone : .undecided("the gateways aren't back yet")
    }

    private func verdictWithoutRow(_ silent: SilentGateways) -> Verdict {
        guard hasSettled else { return .undecided("the gateways aren't back yet") }
        if let id = doubtful.first(where: { !silent.isGone($0) }) {
            return .undecided("gateway \(id) hasn't announced all of its sessions")
        }
        if let id = silent.lost.first(where: silent.mayLive) {
            return .undecided("gateway \(id) isn't back yet")
        }
        return .gone
    }

    /// Whether every gateway has had time to come back since the store may have lost its rows.
    private var hasSettled: Bool { lived > GatewayMembers.deadAfter }
}
