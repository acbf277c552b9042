import Admission
import Testing
import WireText

struct TrustedProxiesTests {
    private let headers = ["x-forwarded-for": "198.51.100.1", "forwarded": "for=198.51.100.2"]

    private func client(_ header: TrustedProxies.Header, peer: String = "10.0.0.1") throws -> String {
        let ranges = try #require(AddressRange.list("10.0.0.0/8"))
        let proxies = TrustedProxies(ranges, header: header)
        return proxies.client(of: try #require(IPAddress(text: peer))) { headers[$0] }.text
    }

    @Test func `only the configured header counts`() throws {
        #expect(try client(.xForwardedFor) == "198.51.100.1")
        #expect(try client(.forwarded) == "198.51.100.2")
    }

    @Test(arguments: TrustedProxies.Header.allCases) func `no header of an untrusted peer counts`(
        header: TrustedProxies.Header
    ) throws {
        #expect(try client(header, peer: "192.0.2.1") == "192.0.2.1")
    }

    @Test func `without ranges no peer is trusted`() throws {
        let peer = try #require(IPAddress(text: "127.0.0.1"))
        #expect(TrustedProxies().client(of: peer) { headers[$0] } == peer)
    }
}
