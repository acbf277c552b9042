import Testing

@testable import ProxyProtocol

struct ProxyHeaderParserTests {
    /// Section 2.1: the specification's own lines.
    @Test func `the specification's longest lines are read`() throws {
        let v4 = "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n"
        let v6Address = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        let v6 = "PROXY TCP6 \(v6Address) \(v6Address) 65535 65535\r\n"
        let unknown = "PROXY UNKNOWN \(v6Address) \(v6Address) 65535 65535\r\n"
        #expect([v4, v6, unknown].map(\.utf8.count) == [56, 104, 107])
        #expect(header(in: v4)?.source == Samples.end(255, 255, 255, 255, port: 65_535))
        #expect(header(in: v6)?.destination == Samples.end([UInt8](repeating: 0xff, count: 16), port: 65_535))
        #expect(header(in: unknown) == ProxyHeader(endpoints: nil))
        #expect(header(in: "PROXY UNKNOWN\r\n") == ProxyHeader(endpoints: nil))
        let example = try #require(header(in: "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\nGET / HTTP/1.1\r\n"))
        #expect(example.source == Samples.end(192, 168, 0, 1, port: 56_324))
        #expect(example.destination == Samples.end(192, 168, 0, 11, port: 443))
    }

    @Test func `version 2 is read as it was written`() {
        #expect(header(in: Samples.tcp4) == ProxyHeader(source: Samples.v4, destination: Samples.v4Target))
        #expect(header(in: Samples.tcp6) == ProxyHeader(source: Samples.v6, destination: Samples.v6Target))
        #expect(header(in: Samples.local) == .local)
    }

    @Test func `a header split at any byte is read the same, without the bytes after it`() {
        let following: [UInt8] = [0x16, 0x03, 0x01]
        for bytes in Samples.valid {
            let whole = parse([bytes[...]])
            guard case .complete(let expected, _) = whole.0 else {
                Issue.record("\(bytes) is not read")
                continue
            }
            #expect(whole.consumed == bytes.count)
            let stream = bytes + following
            for split in 0...stream.count {
                let (progress, consumed) = parse([stream[..<split], stream[split...]])
                #expect(consumed == bytes.count)
                guard case .complete(let header, _) = progress else {
                    Issue.record("\(bytes) split at \(split) is not read")
                    continue
                }
                #expect(header == expected)
            }
            let singly = parse(bytes.indices.map { bytes[$0...$0] })
            #expect(singly.0 == .complete(expected, consumedBytes: 1))
            #expect(parse([bytes.dropLast()]).0 == .needsMore)
        }
    }

    @Test func `the parser releases its buffer at the end`() {
        for bytes in [Samples.tcp4, Array("GET / HTTP/1.1\r\n".utf8)] {
            var parser = ProxyHeaderParser()
            #expect(parser.parse(bytes[...]) != .needsMore)
            #expect(parser.parse(Samples.tcp4[...]) == .malformed(.afterEnd))
        }
    }

    @Test(arguments: [
        "GET / HTTP/1.1", "P", "PR", "PROXX", "PROXYTCP4", "\r\n\r\n\u{1}", "\u{16}\u{3}\u{1}", "\r\r", "proxy TCP4 ",
    ])
    func `other data is refused at its first wrong byte`(text: String) {
        let bytes = Array(text.utf8)
        let isBeginning = "PROXY ".utf8.starts(with: bytes)
        #expect(fault(in: bytes) == (isBeginning ? nil : .signature))
        #expect((parse([bytes[...]]).0 == .needsMore) == isBeginning)
    }

    @Test(arguments: [
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\rX", "PROXY \r\n", "PROXY TCP\r\n",
        "PROXY UNKNOWNS\r\n", "PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n", "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n",
        "PROXY TCP4 192.0.2.1\t192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.01 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2.3 1 2\r\n", "PROXY TCP4 0x7f.0.0.1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 ::1 ::2 1 2\r\n", "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP6 ::1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 +1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 \r\n", "PROXY TCP6 ::1::2 ::2 1 2\r\n", "PROXY TCP6 :1::2 ::2 1 2\r\n",
        "PROXY TCP6 ::1: ::2 1 2\r\n", "PROXY TCP6 1:2:3:4:5:6:7 ::2 1 2\r\n",
        "PROXY TCP6 1:2:3:4:5:6:7:8:9 ::2 1 2\r\n",
        "PROXY TCP6 1:2:3:4::5:6:7:8 ::2 1 2\r\n", "PROXY TCP6 ::12345 ::2 1 2\r\n", "PROXY TCP6 ::g ::2 1 2\r\n",
        "PROXY TCP6 fe80::1%eth0 ::2 1 2\r\n", "PROXY TCP6 [::1] ::2 1 2\r\n", "PROXY TCP6 ::: ::2 1 2\r\n",
        "PROXY TCP6 192.0.2.1:: ::2 1 2\r\n", "PROXY TCP6 1:2:3:4:5:6:7:192.0.2.1 ::2 1 2\r\n",
    ])
    func `a malformed line is refused`(line: String) {
        #expect(fault(in: Array(line.utf8)) == .line)
    }

    @Test func `the dotted ending of an IPv6 address is read`() {
        let line = "PROXY TCP6 ::ffff:192.0.2.1 64:ff9b::192.0.2.33 1 2\r\n"
        #expect(header(in: line)?.source == Samples.end(192, 0, 2, 1, port: 1))
        let bytes: [UInt8] = [0, 0x64, 0xff, 0x9b] + Array(repeating: 0, count: 8) + [192, 0, 2, 33]
        #expect(header(in: line)?.destination == Samples.end(bytes, port: 2))
    }

    @Test func `a line has 107 bytes at most`() {
        func unknown(_ total: Int) -> [UInt8] {
            let filling = String(repeating: "x", count: total - "PROXY UNKNOWN \r\n".utf8.count)
            return Array("PROXY UNKNOWN \(filling)\r\n".utf8)
        }
        #expect(header(in: unknown(107)) == ProxyHeader(endpoints: nil))
        #expect(fault(in: unknown(108)) == .tooLong)
        #expect(fault(in: Array(unknown(200).prefix(107))) == .tooLong)
        #expect(parse([unknown(200).prefix(106)]).0 == .needsMore)
    }

    @Test func `a version 2 block above its limit is refused at its length`() {
        func block(_ total: Int) -> [UInt8] {
            let padding = total - 28 - 3
            return Samples.tcp4(
                tlvs: [0x04, UInt8(padding >> 8), UInt8(padding & 0xff)] + Array(repeating: 0, count: padding))
        }
        #expect(header(in: block(536))?.source == Samples.v4)
        #expect(fault(in: Array(block(537).prefix(16))) == .tooLong)
        #expect(parse([block(537).prefix(15)]).0 == .needsMore)
        #expect(fault(in: Samples.signature + [0x20, 0, 0xff, 0xff]) == .tooLong)
        var generous = ProxyHeaderParser(maximumBytes: 1_000)
        #expect(
            generous.parse(block(1_000)[...])
                == .complete(ProxyHeader(source: Samples.v4, destination: Samples.v4Target), consumedBytes: 1_000))
        var stern = ProxyHeaderParser(maximumBytes: 15)
        #expect(stern.parse(Samples.local[...]) == .malformed(.tooLong))
    }

    @Test func `only version 2 with LOCAL or PROXY passes`() {
        for byte in UInt8.min...UInt8.max where byte != 0x20 && byte != 0x21 {
            #expect(fault(in: Samples.signature + [byte]) == .command)
        }
    }

    @Test func `a PROXY connection is TCP or unspecified`() {
        for byte in UInt8.min...UInt8.max where ![0x00, 0x11, 0x21].contains(byte) {
            #expect(fault(in: Samples.signature + [0x21, byte]) == .family)
        }
    }

    @Test func `LOCAL and the unspecified family skip their address block`() {
        for family in [UInt8(0), 0x11, 0x31, 0xff] {
            #expect(header(in: Samples.signature + [0x20, family, 0, 2, 1, 1]) == .local)
        }
        #expect(header(in: Samples.signature + [0x21, 0, 0, 5, 0x05, 0, 9, 9, 9]) == ProxyHeader(endpoints: nil))
    }

    @Test func `addresses must be complete`() {
        for (family, needed) in [(UInt8(0x11), 12), (0x21, 36)] {
            let short =
                Samples.signature + [0x21, family, 0, UInt8(needed - 1)] + Array(repeating: 1, count: needed - 1)
            #expect(fault(in: short) == .addresses)
        }
    }

    @Test func `known and unknown TLVs are read, and padding is skipped`() {
        let tlvs: [UInt8] = [0x04, 0, 2, 0, 0, 0x05, 0, 2, 7, 8, 0xea, 0, 0, 0xe0, 0, 1, 0x61]
        let header = header(in: Samples.tcp4(tlvs: tlvs))
        #expect(header?.tlvs.map(\.type) == [0x05, 0xea, 0xe0])
        #expect(header?.value(of: .uniqueID) == [7, 8])
        #expect(header?.value(of: .identity) == [0x61])
        #expect(header?.value(of: .alpn) == nil)
    }

    @Test(
        arguments: [
            [0x05], [0x05, 0], [0x05, 0, 1], [0x05, 0, 1, 1, 0x05], [0x05, 0xff, 0xff, 1], [0x04, 0, 2, 0],
        ] as [[UInt8]])
    func `a TLV that exceeds the block is refused`(tlvs: [UInt8]) {
        #expect(fault(in: Samples.tcp4(tlvs: tlvs)) == .tlv)
    }

    @Test func `a unique id of 128 bytes is read, and of 129 bytes refused`() {
        func block(_ count: UInt8) -> [UInt8] {
            Samples.tcp4(tlvs: [0x05, 0, count] + Array(repeating: 1, count: Int(count)))
        }
        #expect(header(in: block(128))?.value(of: .uniqueID)?.count == 128)
        #expect(fault(in: block(129)) == .tlv)
    }

    @Test func `a checksum is verified and isn't returned`() throws {
        let plain = ProxyHeader(source: Samples.v4, destination: Samples.v6, tlvs: [.authority("mud.example")])
        let bytes = try #require(plain.encoded(as: .v2, withChecksum: true))
        #expect(header(in: bytes) == plain)
        for index in 16..<bytes.count {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(bit)
                let isHarmless = header(in: flipped) == plain
                #expect(!isHarmless, "byte \(index) bit \(bit)")
            }
        }
    }

    @Test func `a checksum occurs once and has four bytes`() throws {
        #expect(fault(in: Samples.tcp4(tlvs: [0x03, 0, 3, 0, 0, 0])) == .checksum)
        let zeroed = Samples.tcp4(tlvs: [0x03, 0, 4, 0, 0, 0, 0, 0x03, 0, 4, 0, 0, 0, 0])
        #expect(fault(in: zeroed) == .checksum)
        // Each of the two is right for itself: over everything with zeros in its own place and the other as it stands.
        var twice = Samples.tcp4(tlvs: [0x03, 0, 4, 0, 0, 0, 0, 0x03, 0, 4, 1, 2, 3, 4])
        let sum = CRC32C.checksum(of: twice)
        twice.replaceSubrange(31..<35, with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> UInt32(24 - 8 * $0)) })
        #expect(fault(in: twice) == .checksum)
    }

    /// Whatever the bytes: an end is reached, nothing is taken that wasn't there, and what is read can be written and
    /// read again.
    @Test(arguments: 0..<40) func `mutated headers never confuse the parser`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for original in Samples.valid {
            for _ in 0..<60 {
                var bytes = original
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    let index = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<4, using: &generator) {
                    case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                    case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                    case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: index)
                    default: if bytes.count > 1 { bytes.remove(at: index) }
                    }
                }
                let whole = parse([bytes[...]])
                let split = Int.random(in: 0...bytes.count, using: &generator)
                let pieces = parse([bytes[..<split], bytes[split...]])
                #expect(whole.consumed <= bytes.count)
                switch (whole.0, pieces.0) {
                case (.complete(let one, _), .complete(let other, _)):
                    #expect(one == other)
                    #expect(whole.consumed == pieces.consumed)
                    #expect(header(in: one.encoded(as: .v2) ?? []) == one)
                case (.needsMore, .needsMore): break
                case (.malformed(let one), .malformed(let other)): #expect(one == other)
                default: Issue.record("\(bytes): \(whole) but split at \(split) \(pieces)")
                }
            }
        }
    }
}
