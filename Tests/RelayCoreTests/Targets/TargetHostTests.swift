import Testing
import WireText

@testable import RelayCore

struct TargetHostTests {
    @Test(arguments: [
        ("mud.example.org", "mud.example.org"), ("MUD.Example.ORG", "mud.example.org"),
        ("mud.example.org.", "mud.example.org"),
        ("localhost", "localhost"), ("a_b-c.example", "a_b-c.example"), ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("4000.example", "4000.example"), ("0x.example", "0x.example"), ("0xzz", "0xzz"),
    ]) func `a name has one spelling`(text: String, normal: String) {
        #expect(TargetHost(text) == .name(normal))
    }

    @Test(arguments: [
        "127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0X7F.0.0.1", "0177.0.0.1", "2130706433", "0x7f000001",
        "017700000001",
        "127.0.0.1.", "0000177.0.0.01", "127.0x0.00.1", "0x7f.0x1",
        "00000000000000000000000000177.1",
    ]) func `every notation of an IPv4 address is the address`(text: String) {
        #expect(TargetHost(text)?.text == "127.0.0.1")
    }

    @Test(arguments: [
        "256.0.0.1", "1.2.3.256", "1.2.65536", "1.16777216", "4294967296", "1.2.3.4.5", "08.1.1.1", "1.2.3.09", "1..2",
        "0x7g.1",
        "1.2.3.0x100", "a.b.1", "mud.example.1", "mud.0x7f", "99999999999999999999999999", "0x1ffffffff", "-1",
        "1.2.3.4..",
    ]) func `a host that ends with a number and is no address is refused`(text: String) {
        #expect(TargetHost(text) == nil)
    }

    @Test func `the numbers' ends are 255, 65535, 16777215 and 4294967295`() {
        #expect(TargetHost("1.2.3.255")?.text == "1.2.3.255")
        #expect(TargetHost("1.2.65535")?.text == "1.2.255.255")
        #expect(TargetHost("1.16777215")?.text == "1.255.255.255")
        #expect(TargetHost("4294967295")?.text == "255.255.255.255")
        #expect(TargetHost("0x")?.text == "0.0.0.0")
        #expect(TargetHost("0")?.text == "0.0.0.0")
    }

    @Test(arguments: [
        ("::1", "::1"), ("[::1]", "::1"), ("[2001:DB8:0:0:1:0:0:1]", "2001:db8::1:0:0:1"), ("::", "::"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("::ffff:127.0.0.1", "::ffff:7f00:1"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
    ]) func `an IPv6 address has one spelling, with brackets or without`(text: String, normal: String) {
        #expect(TargetHost(text)?.text == normal)
    }

    @Test(arguments: [
        "fe80::1%eth0", "[fe80::1%25eth0]", "[::1", "::1]", "[127.0.0.1]", "[mud.example]", "[]", ":", ":::", "1:2",
        "::1::",
        "1:2:3:4:5:6:7:8:9", "::12345", "::127.1", "::0x7f.0.0.1", "::127.0.0.01", "1:2:3:4:5:6:7:127.0.0.1",
        "127.0.0.1::",
        "[[::1]]", "::1.", "mud.example:80",
    ]) func `a host with a colon that is no IPv6 address is refused`(text: String) {
        #expect(TargetHost(text) == nil)
    }

    @Test(arguments: [
        "", ".", "..", "a..b", ".a", "a b", " a", "a\n", "a\0", "-a.example", "a-.example", "münchen.de", "mud。example",
        "ｍud.example",
        "\u{212a}.example", "a/b", "a@b", "a%2eb", "*.example", "mud.example..", "a\\b", "１２７.0.0.1",
    ]) func `other text is no host`(text: String) {
        #expect(TargetHost(text) == nil)
    }

    @Test func `a label has at most 63 bytes and a name at most 253 without the final dot`() {
        let label = String(repeating: "a", count: 63)
        #expect(TargetHost(label + ".example") != nil)
        #expect(TargetHost(label + "a.example") == nil)
        let name = [label, label, label, String(label.dropLast(2))].joined(separator: ".")
        #expect(name.utf8.count == 253)
        #expect(TargetHost(name) == .name(name))
        #expect(TargetHost(name + ".") == .name(name))
        #expect(TargetHost(name.dropLast() + "bb") == nil)
        #expect(TargetHost(String(repeating: "0", count: 400)) == nil)
    }

    @Test(arguments: 0..<20) func `no text traps, and what is a host stays one in its normal form`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array("0123456789abcfxX.:[]%-_\u{e9}7f".unicodeScalars)
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...12, using: &generator)
            let text = String(
                String.UnicodeScalarView((0..<count).compactMap { _ in alphabet.randomElement(using: &generator) }))
            guard let host = TargetHost(text) else { continue }
            #expect(TargetHost(host.text) == host, "\(text)")
        }
    }
}

struct TargetEndpointTests {
    @Test(arguments: [
        ("mud.example:4000", "mud.example:4000"), ("MUD.example.:1", "mud.example:1"),
        ("127.1:65535", "127.0.0.1:65535"),
        ("[2001:db8::1]:23", "[2001:db8::1]:23"),
    ]) func `host and port are read`(text: String, normal: String) throws {
        #expect(try TargetEndpoint(text).text == normal)
    }

    @Test(
        arguments: [
            ("mud.example", .portMissing), ("[::1]", .portMissing), ("", .portMissing), ("mud.example:", .port),
            ("mud.example:0", .port),
            ("mud.example:65536", .port), ("mud.example:+1", .port), ("mud.example:01", .port),
            ("mud.example: 1", .port),
            ("mud.example:１", .port), (":4000", .host), ("::1:4000", .host), ("2001:db8::1:23", .host),
            ("m ud:1", .host),
            ("a:b:1", .host),
        ] as [(String, TargetFault)]) func `other text is a fault`(text: String, fault: TargetFault)
    {
        #expect(throws: fault) { try TargetEndpoint(text) }
    }
}
