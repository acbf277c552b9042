import Testing

@testable import Telnet

@Suite struct MSDPTests {
    private func stage() -> ClientStage {
        var stage = ClientStage()
        _ = stage.replies(to: IAC, WILL, 69)
        return stage
    }

    private func said(_ parts: any TraceBytes...) -> [TargetEvent] {
        var stage = stage()
        return stage.receive(subnegotiation(69, parts.flatMap(\.bytes)))
    }

    @Test func `strings, tables and arrays are read`() {
        #expect(
            said(1, "A", 2, "x", 1, "B", 2, 5, 2, "1", 2, 3, 1, "K", 2, "v", 4, 6, 1, "C", 2, 3, 4, 1, "D", 2, 5, 6)
                == [
                    .msdp(name: "A", value: .string("x")),
                    .msdp(
                        name: "B",
                        value: .array([.string("1"), .table([MSDPEntry(name: "K", value: .string("v"))])])),
                    .msdp(name: "C", value: .table([])), .msdp(name: "D", value: .array([])),
                ])
    }

    @Test func `several values are an array and none is an empty string`() {
        #expect(said(1, "A", 2, "x", 2, "y") == [.msdp(name: "A", value: .array([.string("x"), .string("y")]))])
        #expect(said(1, "A") == [.msdp(name: "A", value: .string(""))])
        #expect(said(1, "A", 2) == [.msdp(name: "A", value: .string(""))])
    }

    @Test func `strings are valid UTF-8`() {
        #expect(said(1, "A", 2, "é", 0xE9, IAC, IAC) == [.msdp(name: "A", value: .string("ééÿ"))])
    }

    @Test func `malformed MSDP ends its subnegotiation and nothing else`() {
        let good = TargetEvent.msdp(name: "A", value: .string("x"))
        for wrong in [
            trace(1, 2, "no name"), trace(1, 0, 0, 2, "no name either"), trace(6, "x"), trace(1, "B", 2, 3),
            trace(1, "B", 2, 5, 2, "x"),
            trace(1, "B", 2, 3, 6),
            trace(1, "B", 2, 5, 4), trace(4), trace(1, "B", 2, 5, 1, "x", 6),
        ] {
            #expect(said(1, "A", 2, "x", wrong) == [good], "\(wrong)")
        }
        var stage = stage()
        #expect(stage.receive(subnegotiation(69, 9), subnegotiation(69, 1, "A", 2, "x"), "t") == [good, text("t")])
    }

    private func nested(_ depth: Int) -> [UInt8] {
        (0..<depth).flatMap { _ in trace(5, 2) } + trace("x") + [UInt8](repeating: 6, count: depth)
    }

    @Test func `values are at most 32 levels deep`() {
        #expect(said(1, "A", 2, nested(32)).count == 1)
        #expect(said(1, "A", 2, nested(33)).isEmpty)
        #expect(said(1, "A", 2, [UInt8](repeating: 3, count: 60_000)).isEmpty)
        // Several values form an array around them.
        #expect(said(1, "A", 2, nested(31), 2, "x").count == 1)
        #expect(said(1, "A", 2, nested(32), 2, "x").isEmpty)
        #expect(said(1, "A", 2, 3, 1, "k", 2, nested(30), 2, "x", 4).count == 1)
        #expect(said(1, "A", 2, 3, 1, "k", 2, nested(31), 2, "x", 4).isEmpty)
        let tables = (0..<10_000).flatMap { _ in trace(3, 1, "k", 2) }
        #expect(said(1, "A", 2, tables).isEmpty)
        let tooDeep = (0..<33).reduce(MSDPValue.string("x")) { value, _ in .array([value]) }
        #expect(MSDP.payload(name: "A", value: tooDeep) == nil)
        #expect(MSDP.payload(name: "A", value: .table([MSDPEntry(name: "k", value: tooDeep)])) == nil)
        guard case .array(let values) = tooDeep, let deepest = values.first else { return }
        #expect(MSDP.payload(name: "A", value: deepest) == trace(1, "A", 2, nested(32)))
    }

    @Test func `a subnegotiation has at most 8192 names and values`() {
        let values = [UInt8](repeating: 2, count: MSDP.maximumItems - 1)
        #expect(said(1, "A", values).count == 1)
        #expect(said(1, "A", values, 2).isEmpty)
        #expect(said((0..<MSDP.maximumItems).flatMap { _ in trace(1, "A") }).count == MSDP.maximumItems)
        #expect(said((0...MSDP.maximumItems).flatMap { _ in trace(1, "A") }).count == MSDP.maximumItems)
    }

    @Test func `a name has at most 1024 bytes`() {
        let name = String(repeating: "n", count: 1024)
        #expect(said(1, name, 2, "x") == [.msdp(name: name, value: .string("x"))])
        #expect(said(1, name, "n", 2, "x").isEmpty)
    }

    @Test func `variables are delivered one at a time and in order`() {
        var stage = stage()
        var input = (subnegotiation(69, 1, "A", 2, "x", 1, "B", 2, "y") + trace("text"))[...]
        #expect(stage.client.next(&input, now: 0) == .msdp(name: "A", value: .string("x")))
        #expect(stage.client.holdsBytes)
        #expect(stage.client.next(&input, now: 0) == .msdp(name: "B", value: .string("y")))
        #expect(stage.client.next(&input, now: 0) == text("text"))
        #expect(!stage.client.holdsBytes)
    }

    @Test func `a client's values are written while MSDP is in force`() {
        var output: [UInt8] = []
        var silent = ClientStage()
        #expect(!silent.client.appendMSDP(name: "A", value: .string("x"), to: &output))
        var stage = stage()
        let value = MSDPValue.table([
            MSDPEntry(name: "k", value: .array([.string("1"), .string("2")])), MSDPEntry(name: "e", value: .string("")),
        ])
        #expect(stage.client.appendMSDP(name: "A", value: value, to: &output))
        #expect(output == subnegotiation(69, 1, "A", 2, 3, 1, "k", 2, 5, 2, "1", 2, "2", 6, 1, "e", 2, 4))
        #expect(stage.receive(output) == [.msdp(name: "A", value: value)])
    }

    @Test func `a string can't contain MSDP marks`() {
        var stage = stage()
        var output: [UInt8] = []
        #expect(stage.client.appendMSDP(name: "A\u{2}", value: .string("x\u{1}B\u{2}\u{0}\u{7}"), to: &output))
        #expect(output == subnegotiation(69, 1, "A", 2, "xB\u{7}"))
        output = []
        #expect(!stage.client.appendMSDP(name: "\u{1}", value: .string("x"), to: &output))
        #expect(output.isEmpty)
    }
}
