import Synchronization
import WireText

/// The rate limits for new TLS handshakes, per address and in total. Shared by all reactors of a process.
package final class HandshakeRates: Sendable {
    /// `TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS`. After an outage all phones behind one carrier address reconnect
    /// together; the burst allows for that.
    package static let defaultPerSecondPerAddress = 20
    /// `TLS_HANDSHAKES_PER_SECOND`
    package static let defaultPerSecond = 1_000
    /// The share of the total rate for costly flights (`CostlyFlight`): one in this many.
    static let costlyShare = 4
    /// The burst of one address, in seconds of its rate.
    static let burstSeconds = 10
    /// The maximum number of tracked addresses. Further addresses share one allowance until others are forgotten.
    static let maximumAddresses = 65_536

    /// Bounded by `maximumAddresses`.
    private let state: Mutex<State>

    private struct State {
        var perAddress: Allowance
        var total: Allowance
        var costly: Allowance
        var untilByAddress: [AddressPrefix: UInt64] = [:]
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

        /// Forgets addresses whose allowance is full again; they count as new. It walks the whole table, so it runs at
        /// most once a second.
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

    /// Takes one handshake from the address's allowance.
    ///
    /// - Parameters:
    ///   - address: the unit that limits count by.
    ///   - now: monotonic nanoseconds.
    /// - Returns: false if the allowance is used up.
    func admits(_ address: AddressPrefix, at now: UInt64) -> Bool {
        state.withLock { state in
            let known = state.untilByAddress[address]
            if known == nil, state.untilByAddress.count >= Self.maximumAddresses { state.forget(at: now) }
            guard known != nil || state.untilByAddress.count < Self.maximumAddresses else {
                return state.perAddress.take(from: &state.untilOfOthers, at: now)
            }
            return state.perAddress.take(from: &state.untilByAddress[address, default: 0], at: now)
        }
    }

    /// Reserves the next slot of the total rate, which may lie in the future. Waiting reactors therefore get their
    /// slots in the order in which they asked.
    ///
    /// - Returns: when the slot may be used; `now` if at once.
    func takeFromTotal(at now: UInt64) -> UInt64 {
        state.withLock { $0.total.takeAhead(from: &$0.untilInTotal, at: now) }
    }

    /// The same for costly flights.
    func takeFromCostly(at now: UInt64) -> UInt64 {
        state.withLock { $0.costly.takeAhead(from: &$0.untilOfCostly, at: now) }
    }
}

/// A rate limit with a burst (the generic cell rate algorithm). Its only state is the time at which the allowance is
/// full again.
struct Allowance {
    private let interval: UInt64
    private let burst: UInt64

    init(perSecond: Int, burst count: Int) {
        interval = 1_000_000_000 / UInt64(max(perSecond, 1))
        burst = interval * UInt64(max(count, 1))
    }

    /// - Parameter until: when the allowance is full again, in nanoseconds; 0 at first.
    func take(from until: inout UInt64, at now: UInt64) -> Bool {
        let next = max(until, now) + interval
        guard next <= now + burst else { return false }
        until = next
        return true
    }

    /// Reserves the next slot, even if it lies in the future.
    ///
    /// - Returns: when the slot may be used; `now` if at once.
    func takeAhead(from until: inout UInt64, at now: UInt64) -> UInt64 {
        until = max(until, now) + interval
        return max(now, until - burst)
    }
}
