import KeyStore
import Testing

@Suite("Who is alive in a fleet")
struct GatewayMembersTests {
    private func member(_ id: String, heartbeat: Int64) -> GatewayMember {
        GatewayMember(
            id: id, name: "\(id):6200", version: "1", schema: 2, started: 0, heartbeat: heartbeat, report: .init())
    }

    private let limit = GatewayMembers.deadAfter

    @Test func `a gateway is alive until the limit after its heartbeat`() {
        let one = member("a", heartbeat: 100_000)
        let view = GatewayMembers([one], readAt: 100_000 + limit, began: 0)
        #expect(view.standing(of: "a", at: 100_000 + limit) == .alive(one))
        let later = GatewayMembers([one], readAt: 100_001 + limit, began: 0)
        #expect(later.standing(of: "a", at: 100_001 + limit) == .dead)
        #expect(view.alive(at: 100_000 + limit) == [one])
        #expect(view.alive(at: 100_001 + limit).isEmpty)
    }

    @Test func `a heartbeat from the future is alive`() {
        let one = member("a", heartbeat: 200_000)
        #expect(GatewayMembers([one], readAt: 100_000, began: 0).standing(of: "a", at: 100_000) == .alive(one))
    }

    @Test func `nobody is called dead from an old view`() {
        let one = member("a", heartbeat: 100_000)
        let (last, next) = (100_000 + limit, 100_001 + limit)
        // It was alive when it was read; whether it still is, the next view will tell.
        #expect(GatewayMembers([one], readAt: last, began: 0).standing(of: "a", at: next) == .unknown)
        let dead = GatewayMembers([one], readAt: next, began: 0)
        #expect(dead.standing(of: "a", at: next + limit) == .dead)
        #expect(dead.standing(of: "a", at: next + limit + 1) == .unknown)
    }

    @Test func `a gateway without a row may have joined since`() {
        #expect(GatewayMembers([], readAt: 100_000, began: 0).standing(of: "a", at: 100_000) == .unknown)
    }

    @Test func `nobody is called dead who may have been kept from sending heartbeats`() {
        let stale = member("a", heartbeat: 50_000)
        let before = GatewayMembers([stale], readAt: 50_000, began: 0)
        for after in [
            GatewayMembers([stale], readAt: 100_000, began: 100_000 - limit),
            GatewayMembers([stale], readAt: 100_000, began: 0).seen(since: 100_000 - limit),
        ] {
            #expect(after.standing(of: "a", at: 100_000) == .unknown)
            #expect(after.events(since: before).isEmpty)
        }
        let settled = GatewayMembers([stale], readAt: 100_001, began: 0).seen(since: 100_000 - limit)
        #expect(settled.standing(of: "a", at: 100_001) == .dead)
        #expect(settled.events(since: before) == [.silent(stale)])
    }

    @Test func `views are compared each at its own time`() {
        let before = GatewayMembers(
            [member("a", heartbeat: 99_000), member("b", heartbeat: 99_500), member("c", heartbeat: 99_900)],
            readAt: 100_000, began: 0)
        let (c, d) = (member("c", heartbeat: 104_900), member("d", heartbeat: 104_950))
        let after = GatewayMembers([d, c, member("a", heartbeat: 99_000)], readAt: 105_000, began: 0)
        #expect(
            after.events(since: before) == [
                .joined(d), .silent(member("a", heartbeat: 99_000)), .left(member("b", heartbeat: 99_500)),
            ])
        #expect(after.events(since: after).isEmpty)
        let anew = GatewayMembers([c], readAt: 105_000, began: 104_000)
        #expect(anew.events(since: before) == [])
    }
}
