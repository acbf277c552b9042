import KeyStore
import Testing
import WireText

@testable import Admission

@Suite("The limit of sign-ups")
struct SignUpLimitsTests {
    private let time = start.monotonic

    @Test func `is that of an address, and ten times as much for a network`() {
        let limits = SignUpLimits(perHour: 2)
        for host in 0..<UInt16(SignUpLimits.perNetwork) {
            let one = address("2001:db8:1:\(String(host, radix: 16))::1")
            for _ in 0..<2 { #expect(limits.refuse(one, at: time) == nil) }
            #expect(limits.refuse(one, at: time)?.code == .rateLimited)
        }
        #expect(limits.refuse(address("2001:db8:1:ff::1"), at: time)?.code == .rateLimited)
        #expect(limits.refuse(address("2001:db8:2::1"), at: time) == nil)
    }

    @Test func `takes from a network only what an address is allowed`() {
        let limits = SignUpLimits(perHour: 2)
        for _ in 0..<100 { _ = limits.refuse(address("2001:db8:1::1"), at: time) }
        #expect(limits.refuse(address("2001:db8:1:2::1"), at: time) == nil)
    }

    @Test func `ends with the hour`() {
        let limits = SignUpLimits(perHour: 1)
        let client = Principal(Identity(method: AppAttestMethod.name, subject: "client"), proof: nil)
        let one = address("192.0.2.1")
        #expect(limits.refuse(client, at: one, time) == nil)
        #expect(limits.refuse(client, at: address("192.0.2.2"), time)?.retryAfter == 3_600)
        #expect(limits.refuse(one, at: time) == nil)
        #expect(limits.refuse(client, at: one, (start + 3_600_000).monotonic) == nil)
    }
}
