import Benchmark
import Telnet

/// 16 KiB of a target's bytes each.
func telnetBenchmarks() {
    for (name, stream) in [
        ("plain text", TelnetStage.text), ("negotiation", TelnetStage.negotiation),
        ("subnegotiation", TelnetStage.subnegotiation),
    ] {
        measure("telnet: parse 16 KiB of \(name)", times: .one) { _ in
            TelnetParser()
        } _: { parser, _ in
            var input = stream[...]
            while let event = parser.next(&input) { blackHole(event) }
        }
        measure("telnet: client's events of 16 KiB of \(name)", times: .one) { _ in
            TelnetStage.client()
        } _: { client, _ in
            var input = stream[...]
            while let event = client.next(&input, now: 0) { blackHole(event) }
            blackHole(client.takeReplies())
        }
    }
}

enum TelnetStage {
    static let text = filled(
        16_384, with: Array("\u{1B}[1;32mA narrow lane\u{1B}[0m leads north, past Änne's café.\r\n".utf8))
    /// Questions that have been answered, as a nervous target asks them.
    static let negotiation = filled(
        16_384, with: [255, 253, 24, 255, 251, 1, 255, 252, 1, 255, 253, 31, 255, 251, 201])
    static let subnegotiation = filled(
        16_384, with: [255, 250, 201] + Array(#"Char.Vitals {"hp":120,"maxhp":140,"mp":33}"#.utf8) + [255, 240])

    static func client() -> TelnetClient {
        var client = TelnetClient(settings: TelnetClientSettings())
        var offer: ArraySlice<UInt8> = [255, 251, 201]
        while client.next(&offer, now: 0) != nil {}
        return client
    }

    /// Whole copies of `unit`, and no more than `count` bytes.
    private static func filled(_ count: Int, with unit: [UInt8]) -> [UInt8] {
        Array(repeatElement(unit, count: count / unit.count).joined())
    }
}
