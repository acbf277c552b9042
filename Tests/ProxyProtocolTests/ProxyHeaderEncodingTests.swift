import Testing
import WireText

@testable import ProxyProtocol

struct ProxyHeaderEncodingTests {
    private func line(_ source: SocketAddress, _ destination: SocketAddress) -> String? {
        ProxyHeader(source: source, destination: destination).encoded(as: .v1).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `version 1 names two IPv4 ends`() {
        #expect(line(Samples.v4, Samples.v4Target) == "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n")
    }

    @Test func `version 1 names two IPv6 ends`() {
        #expect(line(Samples.v6, Samples.v6Target) == "PROXY TCP6 2001:db8::1 2001:db8::2 50000 4242\r\n")
    }

    @Test func `ends of two families are both written as IPv6, the IPv4 one mapped`() {
        #expect(line(Samples.v4, Samples.v6Target) == "PROXY TCP6 ::ffff:c000:201 2001:db8::2 56324 4242\r\n")
        #expect(line(Samples.v6, Samples.v4) == "PROXY TCP6 2001:db8::1 ::ffff:c000:201 50000 56324\r\n")
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        let expected =
            Samples.signature + [0x21, 0x21, 0, 36] + mapped + [192, 0, 2, 1] + Samples.v6Bytes(lastByte: 2)
            + [0xdc, 0x04, 0x10, 0x92]
        #expect(ProxyHeader(source: Samples.v4, destination: Samples.v6Target).encoded(as: .v2) == expected)
    }

    @Test func `an IPv4 client on an IPv6 socket is an IPv4 client`() {
        let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        let client = Samples.end(mapped + [192, 0, 2, 1], port: 56_324)
        #expect(client == Samples.v4)
        let socket = Samples.end(mapped + [198, 51, 100, 7], port: 443)
        #expect(ProxyHeader(source: client, destination: socket).encoded(as: .v2) == Samples.tcp4)
    }

    @Test func `an address has 4 or 16 bytes`() {
        for count in 0...20 {
            let isAddress = SocketAddress(bytes: [UInt8](repeating: 1, count: count), port: 1) != nil
            #expect(isAddress == (count == 4 || count == 16))
        }
    }

    @Test func `version 1 never has more than 107 bytes`() {
        let widest = Samples.end([UInt8](repeating: 0xff, count: 16), port: 65_535)
        let bytes = ProxyHeader(source: widest, destination: widest).encoded(as: .v1)
        #expect(bytes?.count == 104)
        #expect(ProxyHeaderLimits.maximumV1Bytes == 107)
    }

    @Test func `version 2 has the bytes of the specification`() {
        #expect(ProxyHeader(source: Samples.v4, destination: Samples.v4Target).encoded(as: .v2) == Samples.tcp4)
        #expect(ProxyHeader(source: Samples.v6, destination: Samples.v6Target).encoded(as: .v2) == Samples.tcp6)
        #expect(ProxyHeader.local.encoded(as: .v2) == Samples.local)
        #expect(ProxyHeader(endpoints: nil).encoded(as: .v2) == Samples.signature + [0x21, 0x00, 0, 0])
    }

    @Test func `a client without an address is UNKNOWN in version 1`() {
        for header in [ProxyHeader.local, ProxyHeader(endpoints: nil)] {
            #expect(header.encoded(as: .v1) == Array("PROXY UNKNOWN\r\n".utf8))
        }
    }

    @Test func `TLVs follow the addresses in their order`() throws {
        let session = try #require(ProxyTLV.uniqueID([1, 2, 3]))
        let header = ProxyHeader(
            source: Samples.v4, destination: Samples.v4Target,
            tlvs: [
                session, .identity(method: "app_attest", subject: "QUJD"), .identity(method: "anonymous", subject: nil),
                .account("00ff"), .alpn([0x68]),
            ])
        let expected =
            [0x05, 0, 3, 1, 2, 3] + [0xe0, 0, 15] + Array("app_attest:QUJD".utf8) + [0xe0, 0, 9]
            + Array("anonymous".utf8) + [0xe1, 0, 4] + Array("00ff".utf8)
            + [0x01, 0, 1, 0x68]
        #expect(header.encoded(as: .v2) == Samples.tcp4(tlvs: expected))
    }

    @Test func `a unique id has at most 128 bytes`() {
        #expect(ProxyTLV.uniqueID([UInt8](repeating: 1, count: 128)) != nil)
        #expect(ProxyTLV.uniqueID([UInt8](repeating: 1, count: 129)) == nil)
    }

    @Test(arguments: [false, true]) func `a header longer than 536 bytes is refused`(withChecksum: Bool)
        throws
    {
        let room = ProxyHeaderLimits.maximumBytes - 28 - 3 - (withChecksum ? 7 : 0)
        func encoded(_ count: Int) -> [UInt8]? {
            ProxyHeader(
                source: Samples.v4, destination: Samples.v4Target,
                tlvs: [.authority(String(repeating: "a", count: count))]
            ).encoded(as: .v2, withChecksum: withChecksum)
        }
        let longest = try #require(encoded(room))
        #expect(longest.count == 536)
        #expect(header(in: longest)?.value(of: .authority)?.count == room)
        #expect(encoded(room + 1) == nil)
        #expect(encoded(70_000) == nil)
    }

    /// RFC 3720 appendix B.4, and the check value of the catalogue of CRCs.
    @Test func `CRC32C uses the Castagnoli polynomial`() {
        #expect(CRC32C.checksum(of: [UInt8](repeating: 0, count: 32)) == 0x8a91_36aa)
        #expect(CRC32C.checksum(of: [UInt8](repeating: 0xff, count: 32)) == 0x62a8_ab43)
        #expect(CRC32C.checksum(of: UInt8(0)...31) == 0x46dd_794e)
        #expect(CRC32C.checksum(of: "123456789".utf8) == 0xe306_9283)
    }
}
