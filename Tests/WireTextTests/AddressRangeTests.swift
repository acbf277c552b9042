import Testing
import WireText

struct AddressRangeTests {
    private func range(_ text: String) throws -> AddressRange { try #require(AddressRange(text), "\(text)") }

    @Test(arguments: [
        (
            "192.0.2.0/24", ["192.0.2.0", "192.0.2.255", "::ffff:192.0.2.7"],
            ["192.0.1.255", "192.0.3.0", "::c000:207"]
        ),
        ("192.0.2.1", ["192.0.2.1"], ["192.0.2.0", "192.0.2.2"]), ("192.0.2.1/32", ["192.0.2.1"], ["192.0.2.2"]),
        ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::1"]),
        ("10.128.0.0/9", ["10.128.0.0", "10.255.1.1"], ["10.127.255.255"]),
        ("128.0.0.0/1", ["128.0.0.0", "255.0.0.0"], ["127.255.255.255"]),
        ("2001:db8::/32", ["2001:db8::", "2001:db8:ffff::1"], ["2001:db7::1", "2001:db9::", "32.1.13.184"]),
        ("::/0", ["::", "ffff::"], ["0.0.0.0", "::ffff:1.2.3.4"]), ("fe80::/10", ["febf::1"], ["fec0::1"]),
        ("2001:db8::1/128", ["2001:db8::1"], ["2001:db8::"]),
    ]) func `a range contains exactly its addresses, to the last bit`(
        text: String, inside: [String], outside: [String]
    ) throws {
        let range = try range(text)
        for address in inside { #expect(range.contains(try #require(IPAddress(text: address))), "\(address)") }
        for address in outside { #expect(!range.contains(try #require(IPAddress(text: address))), "\(address)") }
    }

    @Test(arguments: [
        "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/ 8",
        "10.0.0.5/8",
        "10.0.0.0/8/8", "10.0.0/8", "010.0.0.0/8", "10/8", "0x0a.0.0.0/8", "::/129", "2001:db8::1/32", "2001:db8::/",
        "::ffff:0:0/96",
        "::ffff:10.0.0.0/104", "fe80::1%eth0/128", "[::1]/128", "localhost", "*", "10.0.0.0/８", "10.0.0.0/255.0.0.0",
        "10.0.0.0/99999999999999999999",
    ]) func `other text is no range`(text: String) {
        #expect(AddressRange(text) == nil)
    }

    @Test func `a list with one malformed range is refused`() {
        #expect(AddressRange.list("10.0.0.0/8, ::1\n192.0.2.1")?.count == 3)
        #expect(AddressRange.list("") == [])
        #expect(AddressRange.list("10.0.0.0/8,10.0.0.1/8") == nil)
    }
}
