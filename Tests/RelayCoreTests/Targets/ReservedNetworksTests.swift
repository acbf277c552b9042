import Testing
import WireText

@testable import RelayCore

struct ReservedNetworksTests {
    private func isReserved(_ text: String) throws -> Bool {
        guard case .address(let address) = TargetHost(text) else {
            Issue.record("\(text) is no address")
            return false
        }
        return ReservedNetworks.contain(address.bytes)
    }

    /// First and last address of each network, and the neighbours of both that are public.
    @Test(
        arguments: [
            ("0.0.0.0", "0.255.255.255", nil, "1.0.0.0"), ("10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"),
            ("100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"),
            ("127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"),
            ("169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"),
            ("172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"),
            ("192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"),
            ("192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"),
            ("192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"),
            ("192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"),
            ("198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"),
            ("198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"),
            ("203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"),
            ("224.0.0.0", "255.255.255.255", "223.255.255.255", nil),
            ("2001::", "2001:1ff:ffff::", "2000:ffff::", "2001:200::"),
            ("2001:db8::", "2001:db8:ffff::", "2001:db7:ffff::", "2001:db9::"),
            ("2002::", "2002:ffff:ffff::", "2001:ffff::", "2003::"),
            ("3fff::", "3fff:fff:ffff::", "3ffe:ffff::", "3fff:1000::"),
            ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", nil, "2000::"), ("4000::", "ffff::", "3fff:ffff::", nil),
        ] as [(String, String, String?, String?)])
    func `a network is reserved from its first address to its last`(
        first: String, last: String, before: String?, after: String?
    ) throws {
        #expect(try isReserved(first))
        #expect(try isReserved(last))
        for neighbour in [before, after].compactMap({ $0 }) { #expect(try !isReserved(neighbour), "\(neighbour)") }
    }

    @Test(arguments: [
        "::1", "::ffff:8.8.8.8", "::ffff:127.0.0.1", "::8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::8.8.8.8",
        "64:ff9b:1::1", "100::1",
        "2002:808:808::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:2::1", "2001:10::1", "2001:20::1", "fc00::1",
        "fdff::1",
        "fe80::1", "fec0::1", "ff02::1", "255.255.255.255", "169.254.169.254",
    ]) func `no special address form is public`(text: String) throws {
        #expect(try isReserved(text))
    }

    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888",
    ])
    func `public hosts are public`(text: String) throws {
        #expect(try !isReserved(text))
    }

    @Test func `text that is no address is reserved`() {
        for count in 0...20 where count != 4 && count != 16 {
            #expect(ReservedNetworks.contain([UInt8](repeating: 8, count: count)))
        }
    }
}
