import Admission
import Testing
import WireText

struct EndpointLimitsTests {
    @Test func `600 challenges a minute pass, the next is refused with the seconds to wait`() {
        let limits = EndpointLimits()
        for _ in 0..<600 { #expect(limits.refuseChallenge(to: address("192.0.2.1"), at: start.monotonic) == nil) }
        let refusal = limits.refuseChallenge(to: address("192.0.2.1"), at: (start + 20_000).monotonic)
        #expect(refusal?.answer == .rateLimited)
        #expect(refusal?.status == 429)
        #expect(refusal?.retryAfter == 40)
        #expect(limits.refuseChallenge(to: address("192.0.2.1"), at: (start + 60_000).monotonic) == nil)
    }

    @Test func `60 registrations a minute pass, and don't count with challenges`() {
        let limits = EndpointLimits()
        for _ in 0..<60 { #expect(limits.refuseRegistration(from: address("192.0.2.1"), at: start.monotonic) == nil) }
        #expect(limits.refuseRegistration(from: address("192.0.2.1"), at: start.monotonic)?.retryAfter == 60)
        #expect(limits.refuseChallenge(to: address("192.0.2.1"), at: start.monotonic) == nil)
    }

    @Test func `an IPv6 client counts as its whole /64, and the next /64 as another`() {
        let limits = EndpointLimits(challengesPerMinute: 1)
        #expect(limits.refuseChallenge(to: address("2001:db8:0:1::1"), at: start.monotonic) == nil)
        #expect(limits.refuseChallenge(to: address("2001:db8:0:1:ffff:ffff:ffff:ffff"), at: start.monotonic) != nil)
        #expect(limits.refuseChallenge(to: address("2001:db8:0:2::1"), at: start.monotonic) == nil)
    }

    @Test func `an IPv4 client counts the same through an IPv6 socket`() {
        let limits = EndpointLimits(challengesPerMinute: 1)
        #expect(limits.refuseChallenge(to: address("192.0.2.1"), at: start.monotonic) == nil)
        #expect(limits.refuseChallenge(to: address("::ffff:192.0.2.1"), at: start.monotonic) != nil)
    }
}
