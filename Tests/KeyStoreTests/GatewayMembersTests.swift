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
        #expect(view.standing(of: "a", at: 100_001 + limit) == .dead)
        #expect(view.alive(at: 100_000 + limit) == [one])
        #expect(view.alive(at: 100_001 + limit).isEmpty)
    }

    @Test func `a heartbeat from the future is alive`() {
        let one = member("a", heartbeat: 200_000)
        #expect(GatewayMembers([one], readAt: 100_000, began: 0).standing(of: "a", at: 100_000) == .alive(one))
    }

    @Test func `nobody is called dead from an old view`() {
        let view = GatewayMembers([member("a", heartbeat: 100_000)], readAt: 101_000, began: 0)
        #expect(view.standing(of: "a", at: 101_000 + limit) == .dead)
        #expect(view.standing(of: "a", at: 101_001 + limit) == .unknown)
        #expect(view.standing(of: "b", at: 101_001 + limit) == .unknown)
    }

    @Test func `a gateway without a row has left, unless the store has just begun anew`() {
        let view = GatewayMembers([], readAt: 100_000, began: 100_000 - limit)
        #expect(view.standing(of: "a", at: 100_000) == .unknown)
        #expect(view.standing(of: "a", at: 100_001) == .dead)
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
