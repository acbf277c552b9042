package import KeyStore
import Synchronization

/// What this gateway knows of devices' keys.
package typealias KeyStandings = Standings<KeyID, KeyStanding>

/// What it knows of players' accounts.
package typealias AccountStandings = Standings<AccountID, AccountStanding>

/// What this gateway knows of keys, or accounts, in a store that it shares with others; both are called keys here. The
/// feed of the store's changes keeps it right, so that the standing of a client that was admitted earlier is found
/// without asking the store.
///
/// A record is trusted for ``longestDelay`` after it was read, and as long as the feed has been heard within that time.
/// There are two generations: when the younger one is full, it replaces the older one, so the memory is bounded and a
/// key in use stays.
package final class Standings<Key: Hashable & Sendable, Standing: Sendable>: Sendable {
    /// Asks the store.
    package typealias Ask = @Sendable (Key, @escaping @Sendable (Result<Standing?, KeyRegistryError>) -> Void) -> Void

    package static var defaultMaximum: Int { 65_536 }
    /// A feed that is older than this isn't trusted.
    package static var longestDelay: Duration { .seconds(2) }
    /// Keys that the store didn't have when it was asked. They are forgotten together, so that unknown keys don't drive
    /// out others.
    static var maximumUnknown: Int { 1_024 }
    /// A key that changes while it is read is read again, so often at most.
    static var maximumReadings: Int { 3 }

    private struct Record {
        let key: Key
        var standing: Standing
        let readAt: MonotonicTime
    }

    private struct Reading {
        var count = 0
        /// The number of the last change of this key while it was being read.
        var changed: UInt64 = 0
    }

    private struct State {
        var young: [Key: Record] = [:]
        var old: [Key: Record] = [:]
        /// When the store was asked. The feed doesn't tell of registrations, so these are believed for ``longestDelay``
        /// only.
        var unknown: [Key: MonotonicTime] = [:]
        var readings: [Key: Reading] = [:]
        /// Counts the calls that tell of changes: an answer of the store from before a change isn't kept.
        var changes: UInt64 = 0
        var allChanged: UInt64 = 0
        var heard = MonotonicTime(nanoseconds: 0)
    }

    private let ask: Ask
    private let maximum: Int
    private let state = Mutex(State())

    package init(maximum: Int = Standings.defaultMaximum, ask: @escaping Ask) {
        self.ask = ask
        self.maximum = max(2, maximum)
    }

    /// Whether the feed has been heard within ``longestDelay``.
    package func isCurrent(at time: MonotonicTime) -> Bool {
        time <= state.withLock { $0.heard }.advanced(by: Self.longestDelay)
    }

    /// Milliseconds since the feed was heard; nil: never yet.
    package func lag(at time: MonotonicTime) -> UInt64? {
        let heard = state.withLock { $0.heard }
        return heard.nanoseconds > 0 ? time.milliseconds(since: heard) : nil
    }

    package var count: Int { state.withLock { $0.young.count + $0.old.count } }

    var unknownCount: Int { state.withLock { $0.unknown.count } }

    // MARK: Reading

    /// - Returns: `nil` if the key isn't known to this gateway, or not surely enough.
    func current(of id: Key, at time: MonotonicTime) -> Standing? {
        state.withLock { state in
            guard let record = state.young[id] ?? state.old[id] else { return nil }
            guard time <= max(record.readAt, state.heard).advanced(by: Self.longestDelay) else { return nil }
            if state.young[id] == nil { keep(record, in: &state) }
            return record.standing
        }
    }

    /// From memory, for a caller that can't wait. If it isn't there the store is asked, so that the next call finds it.
    ///
    /// - Returns: `nil` if the store doesn't have the key.
    func standing(of id: Key, at time: MonotonicTime) throws(KeyRegistryError) -> Standing? {
        if let known = current(of: id, at: time) { return known }
        if let asked = state.withLock({ $0.unknown[id] }), time <= asked.advanced(by: Self.longestDelay) { return nil }
        if state.withLock({ $0.readings[id] == nil }) { read(id, at: time) { _ in } }
        throw .unavailable("this gateway doesn't know yet whether the key is still good")
    }

    /// Asks the store, unless the standing is known. An answer from before a change isn't kept, so the store is asked
    /// again: what comes next finds the standing here.
    func load(
        _ id: Key, at time: MonotonicTime,
        then: @escaping @Sendable (Result<Standing?, KeyRegistryError>) -> Void
    ) {
        if let known = current(of: id, at: time) { return then(.success(known)) }
        read(id, at: time, readings: Self.maximumReadings, then: then)
    }

    private func read(
        _ id: Key, at time: MonotonicTime, readings: Int = 1,
        then: @escaping @Sendable (Result<Standing?, KeyRegistryError>) -> Void
    ) {
        let begun = state.withLock { state in
            state.readings[id, default: Reading()].count += 1
            return state.changes
        }
        ask(id) { result in
            let isOutdated = self.finish(id, result, begun: begun, at: time)
            guard isOutdated, readings > 1 else { return then(result) }
            self.read(id, at: time, readings: readings - 1, then: then)
        }
    }

    /// - Returns: whether the answer is from before a change.
    private func finish(
        _ id: Key, _ result: Result<Standing?, KeyRegistryError>, begun: UInt64, at time: MonotonicTime
    ) -> Bool {
        state.withLock { state in
            let changed = max(state.readings[id]?.changed ?? 0, state.allChanged)
            state.readings[id]?.count -= 1
            if state.readings[id]?.count == 0 { state.readings[id] = nil }
            guard case .success(let standing) = result else { return false }
            guard changed <= begun else { return true }
            if let standing {
                keep(Record(key: id, standing: standing, readAt: time), in: &state)
            } else {
                if state.unknown.count >= Self.maximumUnknown { state.unknown = [:] }
                state.unknown[id] = time
            }
            return false
        }
    }

    private func keep(_ record: Record, in state: inout State) {
        if state.young.count >= maximum / 2, state.young[record.key] == nil {
            state.old = state.young
            state.young = [:]
        }
        state.unknown[record.key] = nil
        state.old[record.key] = nil
        state.young[record.key] = record
    }

    // MARK: Changes

    /// The feed has told all changes up to this time. Those of known keys are read again.
    package func heard(_ changed: some Collection<Key>, at time: MonotonicTime) {
        let known = state.withLock { state in
            state.heard = max(state.heard, time)
            return changed.filter { change($0, in: &state) }
        }
        for id in known { read(id, at: time) { _ in } }
    }

    /// The feed has missed changes.
    package func forgetAll() {
        state.withLock { state in
            state.changes += 1
            state.allChanged = state.changes
            (state.young, state.old, state.unknown) = ([:], [:], [:])
        }
    }

    func forget(_ id: Key) { _ = state.withLock { change(id, in: &$0) } }

    /// - Returns: whether the key was known.
    private func change(_ id: Key, in state: inout State) -> Bool {
        state.changes += 1
        state.readings[id]?.changed = state.changes
        state.unknown[id] = nil
        let (young, old) = (state.young.removeValue(forKey: id), state.old.removeValue(forKey: id))
        return young != nil || old != nil
    }
}
