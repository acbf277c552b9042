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
        let client = principal(AppAttestMethod.name, "client")
        let one = address("192.0.2.1")
        for _ in 0..<SignUpLimits.perClient { #expect(limits.refuse(client, at: one, time) == nil) }
        #expect(limits.refuse(client, at: address("192.0.2.2"), time)?.retryAfter == 3_600)
        #expect(limits.refuse(one, at: time) == nil)
        #expect(limits.refuse(one, at: time)?.retryAfter == 3_600)
        let later = (start + 3_600_000).monotonic
        #expect(limits.refuse(client, at: one, later) == nil)
        #expect(limits.refuse(one, at: later) == nil)
    }

    @Test func `is ten times as much for a client with a proof, wherever it is`() {
        let limits = SignUpLimits()
        let (one, other) = (principal(AppAttestMethod.name, "one"), principal(AppAttestMethod.name, "other"))
        let places = [address("192.0.2.1"), address("2001:db8::1")]
        for place in 0..<50 { #expect(limits.refuse(one, at: places[place % 2], time) == nil) }
        for place in places { #expect(limits.refuse(one, at: place, time)?.code == .rateLimited) }
        #expect(limits.refuse(other, at: places[0], time) == nil)
        for place in places { #expect(limits.refuse(place, at: time) == nil) }
    }

    @Test func `is counted for each network of those who share a proof`() {
        let limits = SignUpLimits(perHour: 2)
        let shared = principal(ClientCertificateMethod.name, "team")
        let others = principal(ClientCertificateMethod.name, "others")
        for host in 0..<20 {
            #expect(limits.refuse(shared, at: address("2001:db8:1:\(host)::1"), time) == nil)
            #expect(limits.refuse(shared, at: address("192.0.2.1"), time) == nil)
        }
        for text in ["2001:db8:1::1", "2001:db8:1:ff::1", "192.0.2.1"] {
            #expect(limits.refuse(shared, at: address(text), time)?.code == .rateLimited, "\(text)")
            #expect(limits.refuse(others, at: address(text), time) == nil)
            // Whoever shows nothing there is counted for himself.
            #expect(limits.refuse(address(text), at: time) == nil)
        }
        for text in ["2001:db8:2::1", "192.0.2.2"] { #expect(limits.refuse(shared, at: address(text), time) == nil) }
    }

    private func principal(_ method: MethodName, _ subject: String) -> Principal {
        Principal(Identity(method: method, subject: subject), proof: nil)
    }
}
