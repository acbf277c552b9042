import Testing
import WireText

@testable import Reactors

/// Rate limits for TLS handshakes. Times are nanoseconds, counted from one hour after the clock's start.
struct HandshakeRatesTests {
    private let start: UInt64 = 3_600_000_000_000
    private let second: UInt64 = 1_000_000_000

    private func address(_ number: Int) -> AddressPrefix {
        func byte(_ shift: Int) -> UInt8 { UInt8(truncatingIfNeeded: number >> shift) }
        return IPAddress(ipv4: (10, byte(16), byte(8), byte(0))).prefix
    }

    @Test func `an address may use ten seconds' allowance at once, and no more`() {
        let rates = HandshakeRates(perSecond: 1000, perSecondPerAddress: 2)
        for _ in 0..<20 { #expect(rates.admits(address(1), at: start)) }
        #expect(!rates.admits(address(1), at: start))
        #expect(rates.admits(address(2), at: start))
    }

    @Test func `an address's allowance recovers at its rate`() {
        let rates = HandshakeRates(perSecond: 1000, perSecondPerAddress: 2)
        for _ in 0..<20 { _ = rates.admits(address(1), at: start) }
        #expect(!rates.admits(address(1), at: start + second / 2 - 1))
        #expect(rates.admits(address(1), at: start + second / 2))
        #expect(!rates.admits(address(1), at: start + second / 2))
        // Refused handshakes don't use the allowance.
        #expect(rates.admits(address(1), at: start + second))
    }

    @Test func `the total rate gives the time at which the next handshake may begin`() {
        let rates = HandshakeRates(perSecond: 4, perSecondPerAddress: 1000)
        for _ in 0..<4 { #expect(rates.takeFromTotal(at: start) == start) }
        #expect(rates.takeFromTotal(at: start) == start + second / 4)
        #expect(rates.takeFromTotal(at: start) == start + second / 2)
        #expect(rates.takeFromTotal(at: start + 2 * second) == start + 2 * second)
    }

    @Test func `costly flights have a quarter of the total rate in addition to it`() {
        let rates = HandshakeRates(perSecond: 8, perSecondPerAddress: 1000)
        for _ in 0..<2 { #expect(rates.takeFromCostly(at: start) == start) }
        #expect(rates.takeFromCostly(at: start) == start + second / 2)
        for _ in 0..<8 { #expect(rates.takeFromTotal(at: start) == start) }
        #expect(rates.takeFromTotal(at: start) == start + second / 8)
    }

    @Test func `costly flights proceed even if the total rate is one per second`() {
        let rates = HandshakeRates(perSecond: 1, perSecondPerAddress: 1000)
        #expect(rates.takeFromCostly(at: start) == start)
        #expect(rates.takeFromCostly(at: start) == start + second)
    }

    @Test func `new limits apply at once`() {
        let perAddress = Figure(1)
        let rates = HandshakeRates(perSecond: 1, perSecondPerAddress: perAddress.now)
        for _ in 0..<10 { #expect(rates.admits(address(1), at: start)) }
        #expect(!rates.admits(address(1), at: start))
        perAddress.replace(with: 100)
        #expect(rates.admits(address(1), at: start + second / 100))
    }

    @Test func `with a full table newcomers share one allowance until others are forgotten`() {
        let rates = HandshakeRates(perSecond: 1, perSecondPerAddress: 1)
        for number in 0..<HandshakeRates.maximumAddresses { #expect(rates.admits(address(number), at: start)) }
        for number in 0..<10 { #expect(rates.admits(address(1_000_000 + number), at: start)) }
        #expect(!rates.admits(address(2_000_000), at: start))
        // Tracked addresses still have their own allowance.
        #expect(rates.admits(address(5), at: start))
        #expect(rates.admits(address(2_000_000), at: start + 2 * second))
        for number in 0..<10 { #expect(rates.admits(address(3_000_000 + number), at: start + 2 * second)) }
    }
}
