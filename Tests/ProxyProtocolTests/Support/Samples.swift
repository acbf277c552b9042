import WireText

@testable import ProxyProtocol

/// Headers with the bytes that the specification gives them, written out by hand.
enum Samples {
    static let v4 = end(192, 0, 2, 1, port: 56_324)
    static let v4Target = end(198, 51, 100, 7, port: 443)
    static let v6 = end(v6Bytes(lastByte: 1), port: 50_000)
    static let v6Target = end(v6Bytes(lastByte: 2), port: 4_242)
    static let signature: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]

    /// 2001:db8::`lastByte`
    static func v6Bytes(lastByte: UInt8) -> [UInt8] {
        [0x20, 0x01, 0x0d, 0xb8] + Array(repeating: 0, count: 11) + [lastByte]
    }

    static func end(_ bytes: UInt8..., port: UInt16) -> SocketAddress { end(bytes, port: port) }

    static func end(_ bytes: [UInt8], port: UInt16) -> SocketAddress {
        guard let address = SocketAddress(bytes: bytes, port: port) else { fatalError("\(bytes) is no address") }
        return address
    }

    static let tcp4 = signature + [0x21, 0x11, 0, 12, 192, 0, 2, 1, 198, 51, 100, 7, 0xdc, 0x04, 0x01, 0xbb]
    static let tcp6: [UInt8] =
        signature + [0x21, 0x21, 0, 36] + v6Bytes(lastByte: 1) + v6Bytes(lastByte: 2) + [0xc3, 0x50, 0x10, 0x92]
    static let local = signature + [0x20, 0x00, 0, 0]

    /// `tcp4` with these bytes of TLVs behind its addresses.
    static func tcp4(tlvs: [UInt8]) -> [UInt8] {
        var bytes = tcp4
        let length = 12 + tlvs.count
        bytes.replaceSubrange(14...15, with: [UInt8(length >> 8), UInt8(length & 0xff)])
        return bytes + tlvs
    }

    /// Headers of every kind that both versions can say.
    static var valid: [[UInt8]] {
        let line = "PROXY TCP6 ::1 2001:db8:0:1:0:0:0:9 1 65535\r\n"
        let full = ProxyHeader(
            source: v6, destination: v4,
            tlvs: [.identity(method: "anonymous", subject: nil), .authority("mud.example")])
        return [
            Array("PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n".utf8), Array(line.utf8),
            Array("PROXY UNKNOWN\r\n".utf8), tcp4, tcp6, local, full.encoded(as: .v2, withChecksum: true) ?? [],
            signature + [0x21, 0x00, 0, 3, 9, 9, 9],
        ]
    }
}

/// What one parser makes of the pieces, and how many bytes in all it took.
func parse(_ pieces: [ArraySlice<UInt8>]) -> (ProxyHeaderProgress, consumed: Int) {
    var parser = ProxyHeaderParser()
    var consumed = 0
    for piece in pieces {
        let progress = parser.parse(piece)
        switch progress {
        case .needsMore: consumed += piece.count
        case .complete(_, let bytes): return (progress, consumed + bytes)
        case .malformed: return (progress, consumed)
        }
    }
    return (.needsMore, consumed)
}

func header(in bytes: [UInt8]) -> ProxyHeader? {
    guard case .complete(let header, _) = parse([bytes[...]]).0 else { return nil }
    return header
}

func header(in line: String) -> ProxyHeader? { header(in: Array(line.utf8)) }

func fault(in bytes: [UInt8]) -> ProxyHeaderFault? {
    guard case .malformed(let fault) = parse([bytes[...]]).0 else { return nil }
    return fault
}
