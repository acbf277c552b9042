import Crypto
import DPoP
import FoundationEssentials
package import KeyStore
import Synchronization

/// What makes many gateways one issuer: the incarnation of their store, its time, and their secrets. Shared by all
/// reactors; the owner of the connection to the store keeps it up to date.
package final class FleetIdentity: Sendable {
    private struct State {
        var incarnation: StoreIncarnation
        /// When the incarnation began, in the fleet's time.
        var began: Int64
        var clock: FleetClock
        var secrets: FleetSecrets
        /// Derived from the secrets and the incarnation, when first needed.
        var derived: [String: DerivedKeys] = [:]
    }

    private let state: Mutex<State>

    /// - Parameter began: when the incarnation began, in the fleet's time. `nil`: unknown, and perhaps just now; then
    ///   this gateway refuses DPoP proofs at first.
    package init(
        _ incarnation: StoreIncarnation, began: Int64? = nil, secrets: FleetSecrets, clock: FleetClock,
        at time: MonotonicTime
    ) {
        state = Mutex(
            State(
                incarnation: incarnation, began: began ?? clock.time(at: time), clock: clock, secrets: secrets))
    }

    package var incarnation: StoreIncarnation { state.withLock { $0.incarnation } }

    /// In the fleet's time.
    package func time(at moment: MonotonicTime) -> Int64 { state.withLock { $0.clock.time(at: moment) } }

    /// All that was issued in an earlier incarnation is foreign from now on.
    ///
    /// - Parameters:
    ///   - present: the store's answer. It says itself when the incarnation began: the time of the question may be
    ///     before that, and the time of the answer long after.
    ///   - time: of the question, or before it.
    /// - Returns: whether it is another incarnation than before.
    @discardableResult
    package func learn(_ present: StorePresent, askedAt time: MonotonicTime) -> Bool {
        state.withLock { state in
            guard state.incarnation != present.incarnation else { return false }
            state.incarnation = present.incarnation
            // The answer is later than the question. Where it seems to be earlier, the store has another clock than
            // before, and the estimate is ahead of it.
            let ahead = max(0, state.clock.time(at: time).subtractingReportingOverflow(present.time).partialValue)
            let (began, overflow) = present.began.addingReportingOverflow(ahead)
            state.began = overflow ? .max : began
            state.derived = [:]
            return true
        }
    }

    package func note(_ measurement: FleetClock.Measurement) { _ = state.withLock { $0.clock.note(measurement) } }

    /// The secrets as the store has them now.
    package func replace(_ secrets: FleetSecrets) {
        state.withLock { state in
            state.secrets = secrets
            state.derived = [:]
        }
    }

    /// The store's present incarnation as the life of the replay stores, by the wall clock of a moment. It began as
    /// long ago as the fleet's time says, or up to the tolerance later: gateways' clocks may differ.
    func replayLife(at moment: Moment) -> ReplayLife {
        let (incarnation, age) = state.withLock { state in
            (state.incarnation, Double(state.clock.time(at: moment.monotonic)) - Double(state.began))
        }
        let began = Double(moment.unixMilliseconds) - age + Double(FleetClock.tolerance)
        guard let life = ReplayLife(id: incarnation.bytes, began: Date(timeIntervalSince1970: began / 1_000)) else {
            preconditionFailure("An incarnation is an identifier.")
        }
        return life
    }

    /// One moment's view of all that issuing and accepting need.
    ///
    /// - Parameters:
    ///   - purpose: keys of different purposes are different.
    ///   - lifetime: of what is issued for it, in milliseconds.
    func view(of purpose: String, lifetime: UInt64, at moment: MonotonicTime) -> View {
        state.withLock { state in
            let time = state.clock.time(at: moment)
            let keys =
                state.derived[purpose] ?? DerivedKeys(state.secrets, for: purpose, in: state.incarnation)
            state.derived[purpose] = keys
            return View(
                incarnation: state.incarnation, time: time, secrets: state.secrets, keys: keys,
                lifetime: Int64(clamping: lifetime))
        }
    }

    struct View {
        let incarnation: StoreIncarnation
        /// In the fleet's time.
        let time: Int64
        fileprivate let secrets: FleetSecrets
        fileprivate let keys: DerivedKeys
        fileprivate let lifetime: Int64

        /// With the number of its generation.
        var issuing: (number: UInt32, key: FleetKey) {
            let index = secrets.issuing(at: time)
            return (secrets.generations[index].number, keys.keys[index])
        }

        /// The keys under which something valid may have been issued.
        func accepts(_ matches: (FleetKey) -> Bool) -> Bool {
            keys.keys.indices.contains {
                secrets.isAccepted($0, at: time, lifetime: lifetime) && matches(keys.keys[$0])
            }
        }

        /// - Returns: nil for an unknown generation, and one of which nothing can be valid any more.
        func key(of number: UInt32) -> FleetKey? {
            guard let index = secrets.generations.firstIndex(where: { $0.number == number }),
                secrets.isAccepted(index, at: time, lifetime: lifetime)
            else { return nil }
            return keys.keys[index]
        }
    }
}

/// A key of one generation, purpose and incarnation, to authenticate or to encrypt.
struct FleetKey: Sendable {
    let challenges: ChallengeKey
    let encryption: SymmetricKey

    fileprivate init(_ key: SymmetricKey) {
        challenges = ChallengeKey(key)
        encryption = key
    }
}

private struct DerivedKeys: Sendable {
    /// In the order of the generations.
    let keys: [FleetKey]

    init(_ secrets: FleetSecrets, for purpose: String, in incarnation: StoreIncarnation) {
        keys = secrets.generations.map { FleetKey($0.key(for: purpose, in: incarnation)) }
    }
}
