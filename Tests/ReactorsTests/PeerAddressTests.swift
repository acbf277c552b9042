import CLibuv
import Glibc
import Testing

@testable import Reactors

struct PeerAddressTests {
    private func address(_ host: String, port: UInt16 = 7) throws -> PeerAddress {
        try #require(PeerAddress(NumericAddress(host: host, port: port).storage))
    }

    @Test func `an IPv4 address keeps its four bytes and its port`() throws {
        let peer = try address("192.0.2.33", port: 65_535)
        #expect(peer.bytes == [192, 0, 2, 33])
        #expect(peer.port == 65_535)
        #expect(peer.isIPv4)
        #expect(peer.text == "192.0.2.33")
    }

    @Test func `an IPv6 address keeps its sixteen bytes and its port`() throws {
        let peer = try address("2001:db8::1:2", port: 256)
        #expect(peer.bytes == [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2])
        #expect(peer.port == 256)
        #expect(!peer.isIPv4)
        #expect(peer.text == "2001:db8::1:2")
    }

    @Test func `an IPv4 address mapped into IPv6 is an IPv4 address`() throws {
        #expect(try address("::ffff:192.0.2.33") == address("192.0.2.33"))
        #expect(try address("::ffff:192.0.2.33").text == "192.0.2.33")
    }

    @Test(arguments: [
        "::fffe:192.0.2.33", "::ff:192.0.2.33", "::192.0.2.33", "1::ffff:192.0.2.33", "::1:ffff:192.0.2.33",
    ])
    func `what only looks mapped stays IPv6`(host: String) throws {
        #expect(try !address(host).isIPv4)
    }

    @Test(arguments: ["0.0.0.0", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8:1:2:3:4:5:6"])
    func `the text is the numeric form`(host: String) throws {
        #expect(try address(host).text == host)
    }

    @Test func `limits count an IPv4 address by itself and an IPv6 address by its first half`() throws {
        #expect(try Array(address("192.0.2.33").limitKey) == [192, 0, 2, 33])
        #expect(try address("2001:db8:0:1::1").limitKey == address("2001:db8:0:1:ffff::2").limitKey)
        #expect(try address("2001:db8:0:1::1").limitKey != address("2001:db8:0:2::1").limitKey)
    }

    @Test func `what is no internet address is none`() {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_UNIX)
        #expect(PeerAddress(storage) == nil)
        #expect(PeerAddress(sockaddr_storage()) == nil)
    }
}
