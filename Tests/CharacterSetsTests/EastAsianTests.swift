import CharacterSets
import Testing

@testable import Telnet

/// Text in the encodings of several bytes, read and written with this system's tables. Samples are from the standards'
/// own tables.
struct EastAsianTests {
    typealias Sample = (encoding: TextEncoding, bytes: [UInt8], text: String)

    static let samples: [Sample] = chinese + others

    private static let chinese: [Sample] = [
        (.gbk, [0xD6, 0xD0, 0xCE, 0xC4, 0x21], "中文!"), (.gbk, [0x81, 0x40, 0xFE, 0x4F], "丂\u{FA29}"),
        (.gbk, [0x80, 0x41], "€A"), (.gb18030, [0xD6, 0xD0, 0xA2, 0xE3], "中€"),
        (.gb18030, [0x94, 0x39, 0xFC, 0x36, 0x7A], "😀z"), (.gb18030, [0x81, 0x30, 0x81, 0x30], "\u{80}"),
        (.gb18030, [0x84, 0x31, 0xA4, 0x39], "\u{FFFF}"), (.gb18030, [0xE3, 0x32, 0x9A, 0x35], "\u{10FFFF}"),
        (.gb18030, [0x81, 0x35, 0xF4, 0x37, 0xA8, 0xBC], "\u{E7C7}ḿ"), (.gb18030, [0xFE, 0x51], "𠂇"),
        (
            .gb18030, [0xFE, 0x52, 0xFE, 0x53, 0xFE, 0x6C, 0xFE, 0x76, 0xFE, 0x91],
            "\u{20089}\u{200CC}\u{215D7}\u{2298F}\u{241FE}"
        ),
        (.big5, [0xA4, 0xA4, 0xA4, 0xE5], "中文"), (.big5, [0xA3, 0xE1, 0xA1, 0x45], "€‧"),
        (.big5, [0xF9, 0xFE, 0xC9, 0x40], "￭乂"),
    ]

    private static let others: [Sample] = [
        (.euckr, [0xC7, 0xD1, 0xB1, 0xDB], "한글"), (.euckr, [0x81, 0x41, 0xC6, 0x52], "갂힣"),
        (.shiftjis, [0x93, 0xFA, 0x96, 0x7B, 0x8C, 0xEA], "日本語"),
        (.shiftjis, [0xB1, 0x83, 0x41, 0x5C, 0x87, 0x40], "ｱア\\①"), (.shiftjis, [0xFA, 0x54, 0x81, 0x5F], "￢＼"),
        (.eucjp, [0xC6, 0xFC, 0xCB, 0xDC, 0xB8, 0xEC], "日本語"), (.eucjp, [0x8E, 0xB1, 0xA5, 0xA2, 0xAD, 0xA1], "ｱア①"),
    ]

    private func decode(_ pieces: [[UInt8]], _ encoding: TextEncoding) -> String? {
        var decoder = TextDecoder(encoding: encoding, tables: IconvTables.shared)
        var output: [UInt8] = []
        for piece in pieces {
            var input = piece[...]
            while !input.isEmpty {
                let before = input.count
                let text = decoder.decode(&input, limit: 16)
                #expect(text.count <= 16 && input.count < before)
                output += text
            }
        }
        output += decoder.flush()
        return String(validating: output, as: UTF8.self)
    }

    private func encode(_ text: String, _ encoding: TextEncoding) -> [UInt8] {
        var encoder = TextEncoder(encoding: encoding, tables: IconvTables.shared)
        return Array(encoder.encode(Array(text.utf8)[...]))
    }

    private static let encodings: [TextEncoding] = [.gbk, .gb18030, .big5, .euckr, .shiftjis, .eucjp]

    @Test func `the tables are there, each with as many characters as its standard has`() throws {
        let counts: [DoubleByteSet: Int] = [
            .gb18030: 23_940, .windows949: 17_048, .jis0212: 6_067,
        ]
        for set in DoubleByteSet.allCases {
            let table = try #require(IconvTables.shared.table(set), "\(set)")
            if let count = counts[set] { #expect(table.count == count, "\(set)") }
        }
        let others: [(DoubleByteSet, ClosedRange<Int>)] = [
            (.big5, 18_400...18_700), (.windows31J, 9_000...9_800), (.jis0208, 7_300...7_500),
        ]
        for (set, range) in others {
            #expect(range.contains(try #require(IconvTables.shared.table(set)).count), "\(set)")
        }
        #expect(TextEncoding.allCases.allSatisfy(IconvTables.shared.have))
    }

    @Test(arguments: samples) func `text is read and written back unchanged`(
        sample: Sample
    ) {
        let (encoding, bytes, text) = sample
        #expect(decode([bytes], encoding) == text)
        #expect(encode(text, encoding) == bytes || bytes == [0xFA, 0x54, 0x81, 0x5F], "NEC's ￢ goes before IBM's")
    }

    @Test func `the result doesn't depend on where text is split, malformed or not`() {
        for encoding in Self.encodings {
            var all = Self.samples.filter { $0.encoding == encoding }.flatMap(\.bytes)
            all += [
                0xFF, 0x81, 0x20, 0x81, 0x30, 0x41, 0x81, 0x30, 0x81, 0x1B, 0x5B, 0x6D, 0x8F, 0xA1, 0x2E, 0x8F, 0xA1,
                0x81,
            ]
            all += [0xFE, 0xFE, 0x88, 0x62, 0x88, 0x66, 0xA1, 0x00, 0xA1, 0xA0, 0xFD, 0xE3, 0x32, 0x9A, 0x36, 0xB0]
            let whole = decode([all], encoding)
            #expect(whole != nil)
            for cut in 0...all.count {
                #expect(decode([Array(all[..<cut]), Array(all[cut...])], encoding) == whole, "\(encoding) \(cut)")
            }
            #expect(decode(all.map { [$0] }, encoding) == whole, "\(encoding)")
        }
    }

    /// As in the WHATWG Encoding Standard: each malformed sequence is one U+FFFD, and an ASCII byte is never swallowed.
    private static let malformed: [Sample] = [
        (.gbk, [0x81, 0x20], "\u{FFFD} "), (.gbk, [0xFF, 0x41], "\u{FFFD}A"),
        (.gbk, [0x81], "\u{FFFD}"),
        (.gb18030, [0x81, 0x30, 0x41], "\u{FFFD}0A"), (.gb18030, [0x81, 0x30, 0x81, 0x41], "\u{FFFD}0丄"),
        (.gb18030, [0xFE, 0x39, 0xFE, 0x39], "\u{FFFD}"), (.big5, [0x81, 0x40], "\u{FFFD}@"),
        (.big5, [0x88, 0x62, 0x88, 0xA5], "Ê\u{304}ê\u{30C}"), (.euckr, [0x81, 0x1B, 0x5B], "\u{FFFD}\u{1B}["),
        (.euckr, [0xFE, 0xFF], "\u{FFFD}"), (.shiftjis, [0xA0, 0xFD, 0x41], "\u{FFFD}\u{FFFD}A"),
        (.shiftjis, [0x81, 0x0D, 0x0A], "\u{FFFD}\r\n"), (.eucjp, [0x8E, 0xFF], "\u{FFFD}"),
        (.eucjp, [0x8F, 0xA1, 0x41], "\u{FFFD}A"), (.eucjp, [0x8F, 0xA2, 0xAF], "˘"),
    ]

    @Test(arguments: malformed) func `malformed bytes are replaced and nothing after them is lost`(sample: Sample) {
        #expect(decode([sample.bytes], sample.encoding) == sample.text)
    }

    @Test func `a character that an encoding lacks becomes a question mark`() {
        for encoding: TextEncoding in [.gbk, .big5, .euckr, .shiftjis, .eucjp] {
            #expect(encode("a😀b", encoding) == Array("a?b".utf8), "\(encoding)")
        }
        #expect(encode("한", .big5) == [0x3F] && encode("한", .shiftjis) == [0x3F])
        #expect(encode("\u{E5E5}\u{E78D}", .gb18030) == Array("??".utf8))
        #expect(encode("¥‾−", .shiftjis) == [0x5C, 0x7E, 0x81, 0x7C])
        #expect(encode("¥‾−", .eucjp) == [0x5C, 0x7E, 0xA1, 0xDD])
        #expect(encode("十═", .big5) == [0xA4, 0x51, 0xF9, 0xF9])
    }

    @Test func `every character that can be written is read again`() {
        for encoding in Self.encodings {
            var written = 0
            for value in UInt32(0x80)...0x2_FFFF {
                guard let scalar = Unicode.Scalar(value) else { continue }
                let bytes = encode(String(scalar), encoding)
                guard bytes != [0x3F] else { continue }
                written += 1
                let text = decode([bytes], encoding)
                let expected: String =
                    switch (encoding, value) {
                    case (.shiftjis, 0xA5), (.eucjp, 0xA5): "\\"
                    case (.shiftjis, 0x203E), (.eucjp, 0x203E): "~"
                    case (.shiftjis, 0x2212), (.eucjp, 0x2212): "－"
                    default: String(scalar)
                    }
                #expect(text == expected, "\(encoding) U+\(String(value, radix: 16))")
            }
            #expect(written > 7_000, "\(encoding)")
        }
    }
}
