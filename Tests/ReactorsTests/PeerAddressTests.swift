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

    @Test(arguments: ["::fffe:192.0.2.33", "::192.0.2.33", "1::ffff:192.0.2.33", "::1:ffff:192.0.2.33"])
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

/// Sockets counted in total and by address.
struct ConnectionCensusTests {
    private func peer(_ host: String, port: UInt16 = 1) throws -> PeerAddress {
        try #require(PeerAddress(NumericAddress(host: host, port: port).storage))
    }

    @Test func `at the total limit a socket may stay, one above it not, until another one leaves`() throws {
        let census = ConnectionCensus(maximum: 3, maximumPerAddress: 3)
        let peers = try (1...4).map { try peer("192.0.2.\($0)") }
        for index in 0..<3 { #expect(census.enter(peers[index]) == nil) }
        #expect(census.enter(peers[3]) != nil)
        #expect(census.total == 3)
        census.leave(peers[1])
        #expect(census.total == 2)
        #expect(census.enter(peers[3]) == nil)
        #expect(census.enter(peers[1]) != nil)
    }

    @Test func `at the limit of one address a socket may stay, one above it not, whatever its port`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 2)
        #expect(try census.enter(peer("192.0.2.1", port: 1)) == nil)
        #expect(try census.enter(peer("192.0.2.1", port: 2)) == nil)
        #expect(try census.enter(peer("192.0.2.1", port: 3)) != nil)
        #expect(try census.enter(peer("192.0.2.2")) == nil)
        try census.leave(peer("192.0.2.1", port: 2))
        #expect(try census.enter(peer("192.0.2.1", port: 4)) == nil)
    }

    @Test func `one IPv6 network of 64 bits counts as one address`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 2)
        #expect(try census.enter(peer("2001:db8::1")) == nil)
        #expect(try census.enter(peer("2001:db8::ffff:ffff:ffff:ffff")) == nil)
        #expect(try census.enter(peer("2001:db8::2")) != nil)
        #expect(try census.enter(peer("2001:db8:0:1::1")) == nil)
    }

    @Test func `an IPv4 address mapped into IPv6 counts with its unmapped self`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 1)
        #expect(try census.enter(peer("::ffff:192.0.2.1")) == nil)
        #expect(try census.enter(peer("192.0.2.1")) != nil)
        #expect(try census.enter(peer("192.0.2.2")) == nil)
    }

    @Test func `whoever was refused isn't counted`() throws {
        let census = ConnectionCensus(maximum: 5, maximumPerAddress: 1)
        #expect(try census.enter(peer("192.0.2.1")) == nil)
        for _ in 0..<100 { #expect(try census.enter(peer("192.0.2.1")) != nil) }
        #expect(census.total == 1)
        try census.leave(peer("192.0.2.1"))
        #expect(census.total == 0)
        #expect(try census.enter(peer("192.0.2.1")) == nil)
    }

    @Test func `a maximum of zero admits nobody`() throws {
        #expect(try ConnectionCensus(maximum: 0, maximumPerAddress: 1).enter(peer("192.0.2.1")) != nil)
        #expect(try ConnectionCensus(maximum: 1, maximumPerAddress: 0).enter(peer("192.0.2.1")) != nil)
    }
}
