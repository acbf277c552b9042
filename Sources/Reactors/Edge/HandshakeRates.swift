import Synchronization

/// How many TLS handshakes may begin in a second, from one address and in total; shared by all reactors of a process.
package final class HandshakeRates: Sendable {
    /// `TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS`. After an outage the phones behind one carrier's address come back together: the burst is
    /// for them.
    package static let defaultPerSecondPerAddress = 20
    /// `TLS_HANDSHAKES_PER_SECOND`
    package static let defaultPerSecond = 1_000
    /// Of the total, flights that cost many times as much (`CostlyFlight`): one in so many.
    static let costlyShare = 4
    /// Seconds' worth that an address may have at once.
    static let burstSeconds = 10
    /// Addresses that are remembered; further ones share one allowance until others are forgotten.
    static let maximumAddresses = 65_536

    /// {state} Bounded by `maximumAddresses`.
    private let state: Mutex<State>

    private struct State {
        var perAddress: Allowance
        var total: Allowance
        var costly: Allowance
        var untilByAddress: [ArraySlice<UInt8>: UInt64] = [:]
        var untilOfOthers: UInt64 = 0
        var untilInTotal: UInt64 = 0
        var untilOfCostly: UInt64 = 0
        var nextForgetting: UInt64 = 0

        init(perSecond: Int, perSecondPerAddress: Int) {
            perAddress = Allowance(perSecond: perSecondPerAddress, burst: perSecondPerAddress * burstSeconds)
            total = Allowance(perSecond: perSecond, burst: perSecond)
            let costlyPerSecond = max(perSecond / costlyShare, 1)
            costly = Allowance(perSecond: costlyPerSecond, burst: costlyPerSecond)
        }

        mutating func setLimits(perSecond: Int, perSecondPerAddress: Int) {
            let new = State(perSecond: perSecond, perSecondPerAddress: perSecondPerAddress)
            (perAddress, total, costly) = (new.perAddress, new.total, new.costly)
        }

        /// Addresses whose allowance is whole again are like new ones. It walks the table, so at most once a second.
        mutating func forget(at now: UInt64) {
            guard now >= nextForgetting else { return }
            nextForgetting = now + 1_000_000_000
            untilByAddress = untilByAddress.filter { $0.value > now }
        }
    }

    package init(
        perSecond: Int = defaultPerSecond, perSecondPerAddress: Int = defaultPerSecondPerAddress
    ) {
        state = Mutex(State(perSecond: perSecond, perSecondPerAddress: perSecondPerAddress))
    }

    package func setLimits(perSecond: Int, perSecondPerAddress: Int) {
        state.withLock { $0.setLimits(perSecond: perSecond, perSecondPerAddress: perSecondPerAddress) }
    }

    /// Takes one of what the address may have.
    ///
    /// - Parameters:
    ///   - address: as limits count (`PeerAddress.limitKey`).
    ///   - now: monotonic nanoseconds.
    /// - Returns: false where it has had its own.
    func admits(_ address: ArraySlice<UInt8>, at now: UInt64) -> Bool {
        state.withLock { state in
            let known = state.untilByAddress[address]
            if known == nil, state.untilByAddress.count >= Self.maximumAddresses { state.forget(at: now) }
            guard known != nil || state.untilByAddress.count < Self.maximumAddresses else {
                return state.perAddress.take(from: &state.untilOfOthers, at: now)
            }
            return state.perAddress.take(from: &state.untilByAddress[address, default: 0], at: now)
        }
    }

    /// Takes the next one of the total, perhaps before its time: so reactors that wait get theirs in the order in which they asked.
    ///
    /// - Returns: from when it may be used; `now` where that is at once.
    func takeFromTotal(at now: UInt64) -> UInt64 {
        state.withLock { $0.total.takeAhead(from: &$0.untilInTotal, at: now) }
    }

    /// The same for flights that cost many times as much.
    func takeFromCostly(at now: UInt64) -> UInt64 {
        state.withLock { $0.costly.takeAhead(from: &$0.untilOfCostly, at: now) }
    }
}

/// A rate with a burst, as the generic cell rate algorithm counts it: all that is kept is the time at which the allowance is whole again.
struct Allowance {
    private let interval: UInt64
    private let burst: UInt64

    init(perSecond: Int, burst count: Int) {
        interval = 1_000_000_000 / UInt64(max(perSecond, 1))
        burst = interval * UInt64(max(count, 1))
    }

    /// - Parameters:
    ///   - until: when all of it will be there again; 0 at first. Nanoseconds.
    func take(from until: inout UInt64, at now: UInt64) -> Bool {
        let next = max(until, now) + interval
        guard next <= now + burst else { return false }
        until = next
        return true
    }

    /// Takes the next one, also where there is none yet.
    ///
    /// - Returns: from when it may be used; `now` where that is at once.
    func takeAhead(from until: inout UInt64, at now: UInt64) -> UInt64 {
        until = max(until, now) + interval
        return max(now, until - burst)
    }
}
