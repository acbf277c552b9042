import Testing

@testable import Telnet

@Suite struct TextEncodingTests {
    private func decoded(_ bytes: [UInt8], _ encoding: TextEncoding) -> String {
        var decoder = TextDecoder(encoding: encoding)
        var input = bytes[...]
        return String(decoding: decoder.decode(&input, limit: .max), as: UTF8.self)
    }

    private func encoded(_ text: String, _ encoding: TextEncoding) -> [UInt8] {
        var encoder = TextEncoder(encoding: encoding)
        return Array(encoder.encode(Array(text.utf8)[...]))
    }

    /// Values from the Unicode consortium's mapping tables.
    @Test(arguments: [
        (TextEncoding.latin1, [0xA3, 0xE9, 0xFF], "£éÿ"), (.windows1252, [0x80, 0x93, 0x99, 0x9F, 0xFF], "€“™Ÿÿ"),
        (.cp437, [0x80, 0xB0, 0xC9, 0xDB, 0xE1, 0xFF], "Ç░╔█ß\u{A0}"), (.latin2, [0xA1, 0xB3, 0xF8, 0xFF], "Ąłř˙"),
        (.latin9, [0xA4, 0xA6, 0xBD, 0xBE, 0xFF], "€ŠœŸÿ"), (.windows1251, [0x88, 0xA8, 0xC0, 0xDF, 0xFF], "€ЁАЯя"),
        (.koi8r, [0xA3, 0xC0, 0xC1, 0xE0, 0xFF], "ёюаЮЪ"), (.koi8u, [0xA4, 0xAE, 0xB6, 0xBD], "єўІҐ"),
        (.ibm866, [0x80, 0xB0, 0xF0, 0xFC], "А░Ё№"), (.iso8859p5, [0xA1, 0xB0, 0xF1], "ЁАё"),
        (.iso8859p7, [0xA4, 0xC1, 0xFE], "€Αώ"), (.iso8859p8, [0xE0, 0xFA], "את"), (.iso8859p6, [0xC7, 0xE4], "ال"),
        (.windows874, [0x80, 0xA1, 0xDF], "€ก฿"), (.windows1250, [0x8A, 0xE8, 0xFD], "Ščý"),
        (.windows1253, [0xA2, 0xE1], "Άα"), (.windows1254, [0xDD, 0xFD, 0xF0], "İığ"),
        (.windows1257, [0xC0, 0xFE], "Ąž"),
        (.windows1258, [0xD0, 0xFE], "Đ₫"), (.latin3, [0xA1, 0xFE], "Ħŝ"), (.latin4, [0xA2, 0xFE], "ĸū"),
        (.iso8859p10, [0xA2, 0xFF], "Ēĸ"), (.iso8859p13, [0xA8, 0xFE], "Øž"), (.iso8859p14, [0xA1, 0xFE], "Ḃŷ"),
        (.iso8859p16, [0xA4, 0xAA], "€Ș"), (.macintosh, [0x80, 0xDB, 0xF0], "Ä€\u{F8FF}"),
        (.macCyrillic, [0x80, 0xA2, 0xFF], "АҐ€"), (.windows1255, [0xA4, 0xE0], "₪א"),
        (.windows1256, [0xC7, 0xE1], "ال"),
    ])
    func `a code page has its characters`(encoding: TextEncoding, bytes: [UInt8], text: String) {
        #expect(decoded(bytes, encoding) == text)
        #expect(encoded(text, encoding) == bytes)
    }

    @Test func `every byte of a code page is preserved`() {
        let others: Set<TextEncoding> = [.utf8, .ascii, .gbk, .gb18030, .big5, .euckr, .shiftjis, .eucjp]
        for encoding in TextEncoding.allCases where !others.contains(encoding) {
            let all = Array(UInt8(1)...0xFF)
            let scalars = Array(decoded(all, encoding).unicodeScalars)
            #expect(scalars.count == 255, "\(encoding)")
            // Some pages have gaps.
            for (byte, scalar) in zip(all, scalars) where scalar != "\u{FFFD}" {
                #expect(encoded(String(scalar), encoding) == [byte], "\(encoding) \(byte)")
            }
            #expect(scalars.count { $0 == "\u{FFFD}" } <= 45, "\(encoding)")
        }
        #expect(encoded("\u{FFFD}", .windows874) == Array("?".utf8), "a gap is no character")
    }

    @Test func `without tables multibyte encodings know only ASCII`() {
        for encoding: TextEncoding in [.gbk, .gb18030, .big5, .euckr, .shiftjis, .eucjp] {
            #expect(decoded([0x41, 0xD6, 0xD0, 0x42], encoding) == "A\u{FFFD}\u{FFFD}B")
            #expect(encoded("a中b", encoding) == Array("a?b".utf8))
        }
    }

    @Test func `characters that the target's encoding lacks become question marks`() {
        #expect(encoded("aé☃🐉", .ascii) == Array("a???".utf8))
        #expect(encoded("ж☃", .koi8r) == [0xD6, 0x3F])
        #expect(decoded([0x41, 0x80, 0xFF], .ascii) == "A\u{FFFD}\u{FFFD}")
    }

    @Test func `broken UTF-8 becomes question marks, and a UTF-8 target gets it unchanged`() {
        var encoder = TextEncoder(encoding: .latin1)
        #expect(Array(encoder.encode([0x41, 0xFF, 0xC3, 0x28, 0xE2, 0x98])) == Array("A??(".utf8))
        #expect(Array(encoder.encode([0x41])) == Array("?A".utf8))
        var plain = TextEncoder(encoding: .utf8)
        #expect(Array(plain.encode([0x41, 0xFF, 0xC3])) == [0x41, 0xFF, 0xC3])
    }

    @Test func `an encoding is found by any of its names`() {
        for (name, encoding) in [
            ("UTF-8", TextEncoding.utf8), ("utf8", .utf8), ("iso-8859-1", .latin1), ("Latin1", .latin1),
            ("us-ascii", .ascii), ("cp1252", .windows1252), ("CP437", .cp437), ("iso-8859-15", .latin9),
            ("koi8-r", .koi8r), ("windows-1251", .windows1251), ("latin2", .latin2), ("gb2312", .gbk), ("GBK", .gbk),
            ("big5-hkscs", .big5), ("ks_c_5601-1987", .euckr), ("x-sjis", .shiftjis), ("latin5", .windows1254),
            ("iso-8859-9", .windows1254), ("tis-620", .windows874), ("iso-8859-8-i", .iso8859p8),
            ("cyrillic", .iso8859p5),
            ("gb18030", .gb18030), ("euc-jp", .eucjp), ("x-cp1251", .windows1251), ("cp936", .gbk),
        ] {
            #expect(TextEncoding(name: name) == encoding, "\(name)")
        }
        for encoding in TextEncoding.allCases {
            #expect(TextEncoding(name: encoding.rawValue) == encoding)
            #expect(TextEncoding(name: encoding.charsetName) == encoding)
        }
        let names = TextEncoding.allCases.flatMap(\.names)
        #expect(Set(names).count == names.count && names.allSatisfy { $0 == $0.uppercased() && !$0.isEmpty })
        #expect(names.allSatisfy { $0.utf8.count <= 40 })
        for name in ["", "utf", "big6", "utf-16", "utf-16le", "iso-2022-jp", "replacement", "utf-8 "] {
            #expect(TextEncoding(name: name) == nil, "\(name)")
        }
    }
}
