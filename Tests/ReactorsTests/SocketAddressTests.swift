import CLibuv
import Glibc
import Testing
import WireText

@testable import Reactors

struct SocketAddressTests {
    private func address(_ host: String, port: UInt16 = 7) throws -> SocketAddress {
        try #require(SocketAddress(NumericAddress(host: host, port: port).storage))
    }

    @Test func `an IPv4 address keeps its four bytes and its port`() throws {
        let peer = try address("192.0.2.33", port: 65_535)
        #expect(peer.address.bytes == [192, 0, 2, 33])
        #expect(peer.port == 65_535)
        #expect(peer.address.isIPv4)
        #expect(peer.address.text == "192.0.2.33")
    }

    @Test func `an IPv6 address keeps its sixteen bytes and its port`() throws {
        let peer = try address("2001:db8::1:2", port: 256)
        #expect(peer.address.bytes == [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2])
        #expect(peer.port == 256)
        #expect(!peer.address.isIPv4)
        #expect(peer.address.text == "2001:db8::1:2")
    }

    @Test func `an IPv4-mapped IPv6 address is read as IPv4`() throws {
        #expect(try address("::ffff:192.0.2.33") == address("192.0.2.33"))
        #expect(try address("::ffff:192.0.2.33").address.text == "192.0.2.33")
    }

    @Test(arguments: [
        "::fffe:192.0.2.33", "::ff:192.0.2.33", "::192.0.2.33", "1::ffff:192.0.2.33", "::1:ffff:192.0.2.33",
    ])
    func `an address that only resembles a mapped one stays IPv6`(host: String) throws {
        #expect(try !address(host).address.isIPv4)
    }

    @Test(arguments: ["0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8:1:2:3:4:5:6"])
    func `the text is the numeric form`(host: String) throws {
        #expect(try address(host).address.text == host)
    }

    @Test func `other address families give no address`() {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_UNIX)
        #expect(SocketAddress(storage) == nil)
        #expect(SocketAddress(sockaddr_storage()) == nil)
    }
}
