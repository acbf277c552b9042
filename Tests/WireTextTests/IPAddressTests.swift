import Testing
import WireText

struct IPAddressTests {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("192.0.2.1", "192.0.2.1"), ("255.255.255.255", "255.255.255.255"),
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::8:800:200C:417A", "2001:db8::8:800:200c:417a"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("0:0:0:0:0:0:0:0", "::"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"), ("::ffff:192.0.2.1", "192.0.2.1"), ("::ffff:c000:201", "192.0.2.1"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:c000:201"),
    ])
    func `an address is read and written in one form`(text: String, normal: String) throws {
        let address = try #require(IPAddress(text: text))
        #expect(address.text == normal)
        #expect(IPAddress(text: normal) == address)
    }

    @Test(arguments: [
        "", ".", ":", ":::", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1..2.3", "1.2.3.4 ", "+1.2.3.4",
        "-1.2.3.4",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "::1::", "12345::", "g::", ":1", "1:", "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "fe80::1%eth0", "[::1]", "::1.2.3", "1.2.3.4::", "::1.2.3.4:5", "+1::",
        "１.2.3.4", "::١", "1:2:3:4:5:6:7:1.2.3.4", "1:::2", "::+1",
    ])
    func `text that is no address is refused`(text: String) {
        #expect(IPAddress(text: text) == nil)
    }

    @Test func `bytes and text give the same address`() {
        #expect(IPAddress(ipv4: (192, 0, 2, 1)) == IPAddress(text: "192.0.2.1"))
        let bytes: [UInt8] = [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1]
        #expect(IPAddress(bytes: bytes) == IPAddress(text: "2001:db8::1"))
        #expect(IPAddress(bytes: Array(bytes.dropLast())) == nil)
        #expect(IPAddress(bytes: bytes + [0]) == nil)
    }

    @Test func `only an unconverted address keeps its mapped form`() throws {
        let bytes: [UInt8] = [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 192, 0, 2, 1]
        #expect(IPAddress(bytes: bytes) == IPAddress(text: "192.0.2.1"))
        let unconverted = try #require(IPAddress(unconverted: bytes))
        #expect(unconverted.bytes == bytes)
        #expect(unconverted != IPAddress(text: "192.0.2.1"))
        #expect(IPAddress(ipv4: (192, 0, 2, 1)).ipv6Bytes == bytes)
    }

    @Test func `the prefix is the whole IPv4 address and the first half of an IPv6 one`() throws {
        func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text: text)) }
        #expect(try address("192.0.2.1").prefix != address("192.0.2.2").prefix)
        #expect(try address("2001:db8::1").prefix == address("2001:db8::ffff:0:0:1").prefix)
        #expect(try address("2001:db8::1").prefix != address("2001:db8:0:1::1").prefix)
        #expect(try address("::ffff:192.0.2.1").prefix == address("192.0.2.1").prefix)
        #expect(try address("192.0.2.1").prefix.text == "192.0.2.1/32")
        #expect(try address("2001:db8:1:2:3:4:5:6").prefix.text == "2001:db8:1:2::/64")
    }
}
