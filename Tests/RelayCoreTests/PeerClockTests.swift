import Testing

@testable import RelayCore

/// The client's clock: pings, silence, and the time that doesn't count.
struct PeerClockTests {
    private func clock(now: UInt64 = 100) -> PeerClock { PeerClock(pingInterval: 30, silence: 90, now: now) }

    @Test func `a ping is due at the interval, not one nanosecond before`() {
        var clock = clock()
        #expect(clock.nextDeadline == 130)
        #expect(clock.due(at: 129) == .nothing)
        #expect(clock.due(at: 130) == .ping)
        #expect(clock.due(at: 130) == .nothing)
        #expect(clock.nextDeadline == 160)
    }

    @Test func `a late ping delays the next one`() {
        var clock = clock()
        #expect(clock.due(at: 150) == .ping)
        #expect(clock.nextDeadline == 180)
    }

    @Test func `silence is due at the limit, not one nanosecond before`() {
        var clock = clock()
        for ping: UInt64 in [130, 160] { #expect(clock.due(at: ping) == .ping) }
        #expect(clock.due(at: 189) == .nothing)
        #expect(clock.nextDeadline == 190)
        #expect(clock.due(at: 190) == .silence)
    }

    @Test func `input restarts the silence and doesn't change pings`() {
        var clock = clock()
        clock.heard(at: 129)
        #expect(clock.nextDeadline == 130)
        for ping: UInt64 in [130, 160, 190] { #expect(clock.due(at: ping) == .ping) }
        #expect(clock.due(at: 218) == .nothing)
        #expect(clock.due(at: 219) == .silence)
    }

    @Test func `while stopped the clock reports no silence, and pings continue`() {
        var clock = clock()
        clock.stop(at: 120)
        #expect(clock.nextDeadline == 130)
        #expect(clock.due(at: 129) == .nothing)
        #expect(clock.due(at: 130) == .ping)
        #expect(clock.due(at: 1_000_000) == .ping)
        #expect(clock.nextDeadline == 1_000_030)
    }

    @Test func `a restarted clock continues with the rest of the silence`() {
        var clock = clock()
        clock.stop(at: 120)
        clock.start(at: 1_120)
        #expect(clock.due(at: 1_189) == .ping)
        #expect(clock.nextDeadline == 1_190)
        #expect(clock.due(at: 1_190) == .silence)
    }

    @Test func `input while the clock is stopped counts from the stop`() {
        var clock = clock()
        clock.stop(at: 120)
        clock.heard(at: 1_000)
        clock.start(at: 1_120)
        #expect(clock.due(at: 1_209) == .ping)
        #expect(clock.due(at: 1_210) == .silence)
    }

    @Test func `a second stop or start changes nothing`() {
        var clock = clock()
        clock.start(at: 110)
        clock.stop(at: 120)
        clock.stop(at: 220)
        clock.start(at: 320)
        clock.start(at: 420)
        #expect(clock.due(at: 389) == .ping)
        #expect(clock.due(at: 390) == .silence)
    }
}
