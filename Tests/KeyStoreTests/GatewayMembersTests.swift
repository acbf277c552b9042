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
        #expect(view.alive(at: 100_000 + limit) == [one])
        #expect(view.alive(at: 100_001 + limit).isEmpty)
        // From the future.
        #expect(view.isAlive(member("a", heartbeat: 900_000), at: 100_000))
    }

    @Test func `nobody is called silent who may have been kept from sending heartbeats`() {
        let stale = member("a", heartbeat: 50_000)
        let before = GatewayMembers([stale], readAt: 50_000, began: 0)
        for after in [
            GatewayMembers([stale], readAt: 100_000, began: 100_000 - limit),
            GatewayMembers([stale], readAt: 100_000, began: 0).seen(since: 100_000 - limit),
        ] {
            #expect(after.events(since: before).isEmpty)
        }
        let settled = GatewayMembers([stale], readAt: 100_001, began: 0).seen(since: 100_000 - limit)
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
