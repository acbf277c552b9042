import Testing
import WireText

struct IPAddressTextTests {
    @Test(
        arguments: [
            ([0, 0, 0, 0, 0, 0, 0, 0], "::"), ([0, 0, 0, 0, 0, 0, 0, 1], "::1"), ([1, 0, 0, 0, 0, 0, 0, 0], "1::"),
            ([1, 0, 2, 3, 4, 5, 6, 7], "1:0:2:3:4:5:6:7"), ([1, 0, 0, 2, 0, 0, 0, 3], "1:0:0:2::3"),
            ([1, 0, 0, 2, 3, 0, 0, 4], "1::2:3:0:0:4"), ([0xabc, 0, 0, 0, 0, 0, 0, 0xd], "abc::d"),
        ] as [([UInt16], String)])
    func `IPv6 is written as RFC 5952 has it, and read back`(groups: [UInt16], text: String) {
        let bytes = groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }
        #expect(IPAddressText.compressed(bytes) == text)
        #expect(IPAddressText.ipv6(Array(text.utf8)[...]) == bytes)
    }

    @Test(
        arguments: [
            ("0.0.0.0", [0, 0, 0, 0]), ("192.0.2.1", [192, 0, 2, 1]), ("255.255.255.255", [255, 255, 255, 255]),
        ] as [(String, [UInt8])])
    func `IPv4 is written and read in one notation`(text: String, bytes: [UInt8]) {
        #expect(IPAddressText.dotted(bytes) == text)
        #expect(IPAddressText.ipv4(Array(text.utf8)[...]) == bytes)
    }

    @Test(
        arguments: [
            "", ".", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "256.0.0.1", "1000.0.0.1", "01.2.3.4",
            "00.0.0.0", "0x1.2.3.4", "1.2.3.4 ", " 1.2.3.4", "+1.2.3.4", "1.2.3.-4", "1,2.3.4", "::1.2.3.4", "1.2.3.４",
        ])
    func `text that some programs read as another IPv4 address is refused`(text: String) {
        #expect(IPAddressText.ipv4(Array(text.utf8)[...]) == nil)
    }

    @Test(
        arguments: [
            ("::ffff:192.0.2.1", [0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0201]),
            ("1:2:3:4:5:6:1.2.3.4", [1, 2, 3, 4, 5, 6, 0x0102, 0x0304]),
            ("1::4.3.2.1", [1, 0, 0, 0, 0, 0, 0x0403, 0x0201]), ("ABCD::Ef", [0xabcd, 0, 0, 0, 0, 0, 0, 0xef]),
            ("0001:0:0:0:0:0:0:0", [1, 0, 0, 0, 0, 0, 0, 0]), ("1:2:3:4:5:6:7::", [1, 2, 3, 4, 5, 6, 7, 0]),
        ] as [(String, [UInt16])])
    func `every notation of RFC 4291 is read`(text: String, groups: [UInt16]) {
        #expect(IPAddressText.ipv6(Array(text.utf8)[...]) == groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] })
    }

    @Test(
        arguments: [
            "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "1:2:3:4:5:6:7::8", "12345::", "g::",
            ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "::1%eth0", "[::1]", " ::1", "::1 ", "1.2.3.4", "1.2.3.4::", "::1.2.3",
            "::1.2.3.4.5", "::1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "::-1", "::0x1",
        ])
    func `other text is no IPv6 address`(text: String) {
        #expect(IPAddressText.ipv6(Array(text.utf8)[...]) == nil)
    }

    @Test func `any address that is written is read back`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let bytes = (0..<16).map { _ in Bool.random(using: &generator) ? 0 : UInt8.random(in: 0...255) }
            let text = IPAddressText.compressed(bytes)
            #expect(IPAddressText.ipv6(Array(text.utf8)[...]) == bytes, "\(text)")
        }
    }
}
