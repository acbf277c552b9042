import KeyStore
import Testing

/// So that a macro can change the value.
private final class Box {
    var value: SilentGateways
    init(_ value: SilentGateways) { self.value = value }
}

@Suite struct SilentGatewaysTests {
    private static let limit = GatewayMembers.deadAfter
    private let first = incarnation(1)
    private let second = incarnation(2)

    private static func incarnation(_ byte: UInt8) -> StoreIncarnation? {
        StoreIncarnation(bytes: [UInt8](repeating: byte, count: StoreIncarnation.length))
    }

    private func member(_ id: String, _ heartbeat: Int64, at address: String? = nil) -> GatewayMember {
        GatewayMember(
            id: id, name: id, version: "1", schema: 7, started: 0, heartbeat: heartbeat,
            report: .init(address: address ?? "\(id):1"))
    }

    private func view(
        _ members: [GatewayMember], at time: Int64, began: Int64 = 0, in incarnation: StoreIncarnation?
    ) -> GatewayMembers {
        GatewayMembers(members, readAt: time, began: began, incarnation: incarnation)
    }

    @Test func `a silent gateway is asked for at each view until nobody answers, and is back with its heartbeat`() {
        let box = Box(SilentGateways())
        #expect(box.value.note(view([member("a", 100_000)], at: 100_000, in: first), own: "o").isEmpty)
        #expect(!box.value.mayLive("a") && !box.value.isGone("a"))
        for time in [100_001 + Self.limit, 101_000 + Self.limit] {
            let asked = box.value.note(view([member("a", 100_000)], at: time, in: first), own: "o")
            #expect(asked.map(\.id) == ["a"] && asked.map(\.address) == ["a:1"])
            #expect(box.value.mayLive("a"))
        }
        let atOnce = box.value.nobodyAnswered(at: "a")
        #expect(!atOnce && box.value.mayLive("a"))
        box.value.answered(at: "a")
        let again = box.value.nobodyAnswered(at: "a")
        #expect(!again && box.value.mayLive("a"))
        #expect(box.value.nobodyAnswered(at: "a") && box.value.isGone("a") && !box.value.mayLive("a"))
        let isNews = box.value.nobodyAnswered(at: "a")
        #expect(!isNews)
        #expect(box.value.note(view([member("a", 100_000)], at: 110_000, in: first), own: "o").isEmpty)
        _ = box.value.note(view([member("a", 111_000)], at: 111_000, in: first), own: "o")
        #expect(!box.value.isGone("a") && !box.value.nobodyAnswered(at: "a"))
    }

    @Test func `after a pause of the store nobody is silent before all could send a heartbeat`() {
        let box = Box(SilentGateways())
        let late = view([member("a", 0)], at: 100_000, began: 100_000 - Self.limit, in: first)
        #expect(box.value.note(late, own: "o").isEmpty && !box.value.mayLive("a"))
    }

    @Test func `a gateway never asks for itself`() {
        let box = Box(SilentGateways())
        #expect(box.value.note(view([member("o", 0)], at: 100_000, in: first), own: "o").isEmpty)
        _ = box.value.note(view([member("o", 100_000)], at: 100_000, in: first), own: "o")
        #expect(box.value.note(view([], at: 100_001, in: second), own: "o").isEmpty)
    }

    @Test func `gateways that the store has lost are asked for, those that were silent before, too`() {
        let box = Box(SilentGateways())
        _ = box.value.note(view([member("a", 100_000), member("b", 0)], at: 100_000, in: first), own: "o")
        #expect(box.value.lost.isEmpty && box.value.mayLive("b"))
        let asked = box.value.note(view([], at: 100_500, began: 100_400, in: second), own: "o")
        #expect(Set(asked.map(\.id)) == ["a", "b"] && Set(box.value.lost) == ["a", "b"])
        #expect(box.value.address(of: "a") == "a:1")
        _ = box.value.note(view([member("a", 101_000)], at: 101_000, began: 100_400, in: second), own: "o")
        #expect(box.value.lost == ["b"] && box.value.mayLive("b"))
    }

    @Test func `a gateway that has left is forgotten`() {
        let box = Box(SilentGateways())
        _ = box.value.note(view([member("a", 0)], at: 100_000, in: first), own: "o")
        #expect(box.value.mayLive("a"))
        _ = box.value.note(view([], at: 100_001, in: first), own: "o")
        #expect(!box.value.mayLive("a") && !box.value.isGone("a"))
    }

    @Test func `a gateway is gone if another one is where it was, if it was nowhere, or after the limit`() {
        let box = Box(SilentGateways())
        let members = [member("a", 0), member("b", 100_000, at: "a:1")]
        #expect(box.value.note(view(members, at: 100_000, in: first), own: "o").isEmpty && box.value.isGone("a"))
        box.value = SilentGateways()
        let nowhere = GatewayMember(
            id: "a", name: "a", version: "1", schema: 7, started: 0, heartbeat: 0, report: .init())
        #expect(box.value.note(view([nowhere], at: 100_000, in: first), own: "o").isEmpty && box.value.isGone("a"))
        box.value = SilentGateways()
        let limit = SilentGateways.givenUpAfter
        for (time, isGone) in [(100_000, false), (100_000 + limit, false), (100_001 + limit, true)] as [(Int64, Bool)] {
            _ = box.value.note(view([member("a", 0)], at: time, in: first), own: "o")
            #expect(box.value.isGone("a") == isGone)
        }
    }
}
