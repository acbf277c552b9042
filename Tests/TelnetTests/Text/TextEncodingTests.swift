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
        (.koi8r, [0xA3, 0xC0, 0xC1, 0xE0, 0xFF], "ёюаЮЪ"),
    ])
    func aCodePageHasItsCharacters(encoding: TextEncoding, bytes: [UInt8], text: String) {
        #expect(decoded(bytes, encoding) == text)
        #expect(encoded(text, encoding) == bytes)
    }

    @Test func everyByteOfACodePageComesBack() {
        for encoding in TextEncoding.allCases where encoding != .utf8 && encoding != .ascii {
            let all = Array(UInt8(1)...0xFF)
            let text = decoded(all, encoding)
            #expect(text.unicodeScalars.count == 255 && !text.unicodeScalars.contains("\u{FFFD}"), "\(encoding)")
            #expect(encoded(text, encoding) == all, "\(encoding)")
        }
    }

    @Test func whatATargetHasNoCharacterForBecomesAQuestionMark() {
        #expect(encoded("aé☃🐉", .ascii) == Array("a???".utf8))
        #expect(encoded("ж☃", .koi8r) == [0xD6, 0x3F])
        #expect(decoded([0x41, 0x80, 0xFF], .ascii) == "A\u{FFFD}\u{FFFD}")
    }

    @Test func brokenUTF8BecomesQuestionMarksAndAUTF8TargetGetsItAsItIs() {
        var encoder = TextEncoder(encoding: .latin1)
        #expect(Array(encoder.encode([0x41, 0xFF, 0xC3, 0x28, 0xE2, 0x98])) == Array("A??(".utf8))
        #expect(Array(encoder.encode([0x41])) == Array("?A".utf8))
        var plain = TextEncoder(encoding: .utf8)
        #expect(Array(plain.encode([0x41, 0xFF, 0xC3])) == [0x41, 0xFF, 0xC3])
    }

    @Test func anEncodingIsFoundByAnyOfItsNames() {
        for (name, encoding) in [
            ("UTF-8", TextEncoding.utf8), ("utf8", .utf8), ("iso-8859-1", .latin1), ("Latin1", .latin1),
            ("us-ascii", .ascii), ("cp1252", .windows1252), ("CP437", .cp437), ("iso-8859-15", .latin9),
            ("koi8-r", .koi8r), ("windows-1251", .windows1251), ("latin2", .latin2),
        ] {
            #expect(TextEncoding(name: name) == encoding, "\(name)")
        }
        for encoding in TextEncoding.allCases {
            #expect(TextEncoding(name: encoding.rawValue) == encoding)
            #expect(TextEncoding(name: encoding.charsetName) == encoding)
        }
        for name in ["", "utf", "big5", "utf-16", "utf-8 "] { #expect(TextEncoding(name: name) == nil, "\(name)") }
    }
}
