import RelayCore
import Synchronization
package import WireText

/// `MESSAGES_PER_SECOND_PER_ADDRESS` for all addresses and all reactors: the sessions of one address share one
/// ``FairPace``.
///
/// There is an entry for each address that has sessions, so there are never more entries than sessions.
package final class AddressPaces: Sendable {
    private struct State {
        /// 0: no limit.
        var perSecond: Int
        var paces: [AddressPrefix: (pace: SharedPace, sessions: Int)] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter perSecond: nil: no limit.
    package init(perSecond: Int?) {
        state = Mutex(State(perSecond: perSecond ?? 0))
    }

    /// For a reload: also applies to existing sessions.
    package func setRate(perSecond: Int?) {
        state.withLock { state in
            state.perSecond = perSecond ?? 0
            for (pace, _) in state.paces.values { pace.setRate(perSecond: state.perSecond) }
        }
    }

    /// Addresses that have sessions.
    package var count: Int { state.withLock { $0.paces.count } }

    /// A session's share of its address' budget, valid as long as the session holds it.
    package func join(_ prefix: AddressPrefix) -> AddressShare {
        let pace = state.withLock { state in
            let known = state.paces[prefix] ?? (SharedPace(perSecond: state.perSecond), 0)
            state.paces[prefix] = (known.pace, known.sessions + 1)
            return known.pace
        }
        return AddressShare(of: pace, prefix, among: self)
    }

    fileprivate func leave(_ prefix: AddressPrefix) {
        state.withLock { state in
            guard let known = state.paces[prefix] else { return }
            state.paces[prefix] = known.sessions > 1 ? (known.pace, known.sessions - 1) : nil
        }
    }
}

/// One address' budget, under its own lock: messages of different addresses don't wait for each other.
private final class SharedPace: Sendable {
    private let pace: Mutex<FairPace>

    init(perSecond: Int) {
        pace = Mutex(FairPace(perSecond: perSecond))
    }

    func setRate(perSecond: Int) { pace.withLock { $0.setRate(perSecond: perSecond) } }

    func spend(_ member: FairPace.Member, now: UInt64) -> (FairPace.Member, until: UInt64?) {
        pace.withLock { pace in
            var member = member
            let until = pace.spend(&member, now: now)
            return (member, until)
        }
    }

    func ask(_ member: FairPace.Member, now: UInt64) -> (FairPace.Member, until: UInt64?) {
        pace.withLock { pace in
            var member = member
            let until = pace.readableAt(now, &member)
            return (member, until)
        }
    }
}

/// One session's share of its address' budget. On the session's reactor thread only; released with its last reference.
package final class AddressShare {
    private let pace: SharedPace
    private let prefix: AddressPrefix
    private let paces: AddressPaces
    private var member = FairPace.Member()

    fileprivate init(of pace: SharedPace, _ prefix: AddressPrefix, among paces: AddressPaces) {
        self.pace = pace
        self.prefix = prefix
        self.paces = paces
    }

    deinit { paces.leave(prefix) }

    /// A message has arrived.
    ///
    /// - Returns: when to call ``readableAt(_:)``; nil: the session's client may be read.
    package func spend(now: UInt64) -> UInt64? {
        let outcome = pace.spend(member, now: now)
        member = outcome.0
        return outcome.until
    }

    /// - Returns: when to ask again; nil: now.
    package func readableAt(_ now: UInt64) -> UInt64? {
        let outcome = pace.ask(member, now: now)
        member = outcome.0
        return outcome.until
    }
}
