import Testing
import WireText

@testable import Reactors

/// Sockets counted in total and by address.
struct ConnectionCensusTests {
    private func peer(_ host: String, port: UInt16 = 1) throws -> SocketAddress {
        try #require(SocketAddress(NumericAddress(host: host, port: port).storage))
    }

    @Test func `a socket above the total limit is refused until another one leaves`() throws {
        let maximum = Figure(3)
        let census = ConnectionCensus(maximum: maximum.now, maximumPerAddress: 3)
        let peers = try (1...4).map { try peer("192.0.2.\($0)") }
        for index in 0..<3 { #expect(census.enter(peers[index]) == nil) }
        #expect(census.enter(peers[3]) == .total)
        #expect(census.total == 3)
        census.leave(peers[1])
        #expect(census.total == 2)
        #expect(census.enter(peers[3]) == nil)
        #expect(census.enter(peers[1]) == .total)
        // A new limit applies at once, but closes no open socket.
        maximum.replace(with: 2)
        #expect(census.total == 3)
        census.leave(peers[3])
        #expect(census.enter(peers[1]) == .total)
        maximum.replace(with: 3)
        #expect(census.enter(peers[1]) == nil)
    }

    @Test func `a socket above the limit of its address is refused, whatever its port`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 2)
        #expect(try census.enter(peer("192.0.2.1", port: 1)) == nil)
        #expect(try census.enter(peer("192.0.2.1", port: 2)) == nil)
        #expect(try census.enter(peer("192.0.2.1", port: 3)) == .perAddress)
        #expect(try census.enter(peer("192.0.2.2")) == nil)
        try census.leave(peer("192.0.2.1", port: 2))
        #expect(try census.enter(peer("192.0.2.1", port: 4)) == nil)
    }

    @Test func `an IPv6 /64 counts as one address`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 2)
        #expect(try census.enter(peer("2001:db8::1")) == nil)
        #expect(try census.enter(peer("2001:db8::ffff:ffff:ffff:ffff")) == nil)
        #expect(try census.enter(peer("2001:db8::2")) == .perAddress)
        #expect(try census.enter(peer("2001:db8:0:1::1")) == nil)
    }

    @Test func `an IPv4-mapped IPv6 address counts as its IPv4 address`() throws {
        let census = ConnectionCensus(maximum: 10, maximumPerAddress: 1)
        #expect(try census.enter(peer("::ffff:192.0.2.1")) == nil)
        #expect(try census.enter(peer("192.0.2.1")) == .perAddress)
        #expect(try census.enter(peer("192.0.2.2")) == nil)
    }

    @Test func `a refused client isn't counted`() throws {
        let census = ConnectionCensus(maximum: 5, maximumPerAddress: 1)
        #expect(try census.enter(peer("192.0.2.1")) == nil)
        for _ in 0..<100 { #expect(try census.enter(peer("192.0.2.1")) == .perAddress) }
        #expect(census.total == 1)
        try census.leave(peer("192.0.2.1"))
        #expect(census.total == 0)
        #expect(try census.enter(peer("192.0.2.1")) == nil)
    }

    @Test func `a maximum of zero admits no client`() throws {
        #expect(try ConnectionCensus(maximum: 0, maximumPerAddress: 1).enter(peer("192.0.2.1")) == .total)
        #expect(try ConnectionCensus(maximum: 1, maximumPerAddress: 0).enter(peer("192.0.2.1")) == .perAddress)
    }
}
