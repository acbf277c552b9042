import Testing
import WireText

@testable import FleetWire

struct RelayPrefaceTests {
    @Test(arguments: Samples.all)
    func `what one gateway writes another one reads, however it is split`(preface: RelayPreface) throws {
        let bytes = try #require(preface.encoded())
        let request = Array("GET / HTTP/1.1\r\n".utf8)
        for cut in 0...bytes.count {
            var parser = RelayPrefaceParser()
            if cut < bytes.count { #expect(parser.parse(bytes[..<cut]) == .needsMore) } else { break }
            #expect(
                parser.parse((bytes + request)[cut...]) == .complete(preface, consumedBytes: bytes.count - cut))
        }
        var slow = RelayPrefaceParser()
        for byte in bytes.dropLast() { #expect(slow.parse([byte]) == .needsMore) }
        #expect(slow.parse([bytes[bytes.count - 1]]) == .complete(preface, consumedBytes: 1))
        #expect(slow.parse([0]) == .malformed(.afterEnd))
    }

    @Test func `the form doesn't change`() {
        let preface = RelayPreface(
            client: SocketAddress(IPAddress(ipv4: (192, 0, 2, 1)), port: 258), isTLS: true, requestID: "0a")
        let expected: [UInt8] =
            Array("PCUF".utf8) + [1, 0, 0, 18] + [1, 0, 6, 192, 0, 2, 1, 1, 2] + [2, 0, 1, 1] + [4, 0, 2]
            + Array("0a".utf8)
        #expect(preface.encoded() == expected)
    }

    @Test func `it is refused at its first wrong byte`() {
        for (count, fault): (Int, RelayPrefaceFault) in [(0, .signature), (3, .signature), (4, .version)] {
            var bytes = Array(Samples.header(length: 20)[..<(count + 1)])
            bytes[count] ^= 1
            #expect(Samples.outcome(bytes) == .malformed(fault))
        }
    }

    @Test func `a length at the limit is awaited, and one above it refused`() {
        #expect(Samples.outcome(Samples.header(length: RelayPrefaceLimits.maximumBytes)) == .needsMore)
        #expect(Samples.outcome(Samples.header(length: RelayPrefaceLimits.maximumBytes + 1)) == .malformed(.tooLong))
    }

    @Test func `a field that may be ignored is ignored, and another one refused`() {
        #expect(Samples.isComplete(Samples.fields() + Samples.field(128, [1, 2])))
        #expect(Samples.outcome(of: Samples.fields() + Samples.field(127, [1, 2])) == .malformed(.unknownField))
        for kind: UInt8 in [0, 3, 6] {
            #expect(Samples.outcome(of: Samples.fields() + Samples.field(kind, [])) == .malformed(.unknownField))
        }
    }

    @Test func `the number of fields has a limit`() {
        let more = [[UInt8]](repeating: Samples.field(200, []), count: RelayPrefaceLimits.maximumFields - 3)
        #expect(Samples.isComplete(Samples.fields() + more.flatMap(\.self)))
        #expect(
            Samples.outcome(of: Samples.fields() + more.flatMap(\.self) + Samples.field(200, [])) == .malformed(.field))
    }

    @Test(
        arguments: [([1], RelayPrefaceFault.address), ([2], .flags), ([4], .requestID)]
            as [([UInt8], RelayPrefaceFault)])
    func `a field that is there twice is refused`(kind: [UInt8], fault: RelayPrefaceFault) {
        let again: [UInt8: [UInt8]] = [1: [192, 0, 2, 1, 0, 0], 2: [1], 4: Array("0a".utf8)]
        #expect(
            Samples.outcome(of: Samples.fields() + Samples.field(kind[0], again[kind[0]] ?? [])) == .malformed(fault))
    }

    @Test func `a field that is missing, too long or impossible is refused`() {
        #expect(Samples.outcome(of: []) == .malformed(.missing))
        #expect(Samples.outcome(of: Samples.field(2, [1]) + Samples.field(4, Array("0a".utf8))) == .malformed(.missing))
        #expect(Samples.outcome(of: [1, 0]) == .malformed(.field))
        #expect(Samples.outcome(of: [1, 0, 6, 192]) == .malformed(.field))
        for count in 0...20 where count != 6 && count != 18 {
            #expect(Samples.outcome(of: Samples.field(1, [UInt8](repeating: 1, count: count))) == .malformed(.address))
        }
        #expect(Samples.outcome(of: Samples.field(2, [2])) == .malformed(.flags))
        #expect(Samples.outcome(of: Samples.field(2, [])) == .malformed(.flags))
    }

    @Test(arguments: ["", "0A", "0g", "a b", "\n"])
    func `a request id is lower-case hexadecimal`(text: String) {
        #expect(Samples.outcome(of: Samples.field(4, Array(text.utf8))) == .malformed(.requestID))
        var preface = Samples.preface
        preface.requestID = text
        #expect(preface.encoded() == nil)
    }

    @Test func `an admitted client has a limit`() {
        let largest = [UInt8](repeating: 1, count: RelayPrefaceLimits.maximumPrincipalBytes)
        #expect(Samples.isComplete(Samples.fields() + Samples.field(5, largest)))
        for wrong in [largest + [1], []] {
            #expect(Samples.outcome(of: Samples.fields() + Samples.field(5, wrong)) == .malformed(.principal))
            var preface = Samples.admitted
            preface.principal = wrong
            #expect(preface.encoded() == nil)
        }
        let twice = Samples.field(5, [1]) + Samples.field(5, [1])
        #expect(Samples.outcome(of: Samples.fields() + twice) == .malformed(.principal))
    }

    @Test func `a request id has at most 32 characters`() {
        let longest = [UInt8](repeating: 48, count: RelayPrefaceLimits.maximumRequestIDBytes)
        #expect(Samples.outcome(of: Samples.field(4, longest)) == .malformed(.missing))
        #expect(Samples.outcome(of: Samples.field(4, longest + [48])) == .malformed(.requestID))
    }
}

enum Samples {
    static let v4 = SocketAddress(IPAddress(ipv4: (192, 0, 2, 1)), port: 50_000)
    static let v6 = SocketAddress(bytes: [0x20, 1, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [9], port: 0)!

    static let preface = RelayPreface(client: v4, isTLS: true, requestID: "91347244767f1a80")

    static let all = [preface, RelayPreface(client: v6, isTLS: false, requestID: "0"), admitted]

    static var admitted: RelayPreface {
        var preface = preface
        preface.principal = [1, 2, 3]
        return preface
    }

    static func header(length: Int) -> [UInt8] {
        Array("PCUF".utf8) + [1] + [16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
    }

    static func field(_ kind: UInt8, _ value: [UInt8]) -> [UInt8] {
        [kind, UInt8(value.count >> 8), UInt8(value.count & 255)] + value
    }

    static func fields(flags: UInt8 = 1) -> [UInt8] {
        field(1, [192, 0, 2, 1, 0, 9]) + field(2, [flags]) + field(4, Array("0a".utf8))
    }

    static func outcome(_ bytes: [UInt8]) -> RelayPrefaceProgress {
        var parser = RelayPrefaceParser()
        return parser.parse(bytes[...])
    }

    static func outcome(of fields: [UInt8]) -> RelayPrefaceProgress {
        outcome(header(length: fields.count) + fields)
    }

    static func isComplete(_ fields: [UInt8]) -> Bool {
        if case .complete = outcome(of: fields) { true } else { false }
    }
}
