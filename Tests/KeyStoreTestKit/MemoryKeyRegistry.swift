package import KeyStore
import Synchronization

/// The reference implementation of a store, used in tests. The server never uses it, because all keys would be lost
/// with a restart.
///
/// Nothing here waits, so the same methods implement both parts of the store.
package final class MemoryKeyRegistry: KeyRegistry, ImmediateKeyRegistry, SharedCounterWindowStore {
    private let records = Mutex<[KeyID: DeviceKey]>([:])
    /// Used under the lock of `records`.
    private let windows = Mutex(Windows())
    /// That devices have joined, in whichever store of accounts.
    private let accounts = Mutex<[KeyID: AccountID]>([:])

    private struct Windows {
        var inForce = WindowInForce()
        /// Good only for the counter that a record has, and in their epoch.
        var remembered: [KeyID: (counters: KeyCounters, epoch: Int64)] = [:]

        func counters(of key: DeviceKey) -> KeyCounters {
            guard let (counters, epoch) = remembered[key.id], epoch == inForce.epoch, counters.highest == key.counter
            else { return KeyCounters(highest: key.counter) }
            return counters
        }
    }

    package init() {}

    package func putInForce(_ window: CounterWindow, after former: CounterWindow?) {
        windows.withLock { $0.inForce.put(window, after: former) }
    }

    package func narrow(to window: CounterWindow) { windows.withLock { $0.inForce.narrow(to: window) } }

    package func enrol(_ key: DeviceKey) -> Enrolment {
        records.withLock { records in
            guard let known = records[key.id] else {
                records[key.id] = key
                return .enrolled
            }
            guard !known.isRevoked else { return .revoked }
            records[key.id] = known.reenrolled(as: key)
            return .alreadyEnrolled
        }
    }

    package func key(_ id: KeyID) -> DeviceKey? {
        records.withLock { $0[id] }
    }

    package func standing(of id: KeyID) -> KeyStanding? {
        let account = accounts.withLock { $0[id] }
        return records.withLock { $0[id]?.standing(in: account) }
    }

    /// - Parameter account: nil: the device has left it, or it is closed.
    package func note(_ account: AccountID?, ofDevice id: KeyID) { accounts.withLock { $0[id] = account } }

    package func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) -> CounterAdvance {
        use(CounterUse(counter), of: id, at: time)
    }

    package func use(_ use: CounterUse, of id: KeyID, at time: Int64) -> CounterAdvance {
        records.withLock { records in
            guard var known = records[id] else { return .unknownKey }
            guard !known.isRevoked else { return .revoked }
            let (outcome, highest) = windows.withLock { [known] windows in
                var counters = windows.counters(of: known)
                let outcome = counters.take(use)
                if outcome == .advanced { windows.remembered[id] = (counters, windows.inForce.epoch) }
                return (outcome, counters.highest)
            }
            guard outcome == .advanced else { return outcome }
            known.counter = highest
            known.lastUsedAt = time
            records[id] = known
            return .advanced
        }
    }

    package func keys(after: KeyID?, limit: Int) -> [DeviceKey] {
        records.withLock { records in
            let identifiers = records.keys.filter { id in after.map { $0 < id } ?? true }.sorted()
            return identifiers.prefix(max(0, limit)).compactMap { records[$0] }
        }
    }

    package func revoke(_ id: KeyID, reason: String, at time: Int64) -> Bool {
        records.withLock { records in
            guard var known = records[id] else { return false }
            guard !known.isRevoked else { return true }
            known.revokedAt = time
            known.revocationReason = reason
            records[id] = known
            return true
        }
    }

    package func restore(_ id: KeyID) -> Bool {
        records.withLock { records in
            guard var known = records[id] else { return false }
            known.revokedAt = nil
            known.revocationReason = nil
            records[id] = known
            return true
        }
    }

    package func forget(_ id: KeyID) -> Forgetting {
        records.withLock { records in
            guard let known = records[id] else { return .unknown }
            guard !known.isRevoked else { return .refusedRevoked }
            records[id] = nil
            windows.withLock { $0.remembered[id] = nil }
            return .forgotten
        }
    }
}
