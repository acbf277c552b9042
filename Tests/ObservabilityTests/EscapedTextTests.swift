import Observability
import Testing

@Suite struct EscapedTextTests {
    @Test func `visible text is unchanged`() {
        #expect(EscapedText("Grüße, 世界 🙂 \"quoted\"").description == "Grüße, 世界 🙂 \"quoted\"")
    }

    @Test(arguments: [
        ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\\", "\\\\"), ("\u{0}", "\\u{0000}"),
        ("\u{1B}[31m", "\\u{001B}[31m"), ("\u{7F}", "\\u{007F}"), ("\u{85}", "\\u{0085}"), ("\u{9B}", "\\u{009B}"),
        ("\u{202E}", "\\u{202E}"), ("\u{2066}", "\\u{2066}"), ("\u{2028}", "\\u{2028}"), ("\u{A0}", "\\u{00A0}"),
        ("\u{FEFF}", "\\u{FEFF}"), ("\u{E000}", "\\u{E000}"), ("\u{E0041}", "\\u{E0041}"),
    ])
    func `invisible characters are escaped`(text: String, expected: String) {
        #expect(EscapedText(text).description == expected)
    }

    @Test func `every control byte is escaped`() {
        for byte in (0..<0x20 as Range<UInt8>) + [0x7F] {
            let escaped = EscapedText(bytes: [byte]).description
            #expect(escaped.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
            #expect(escaped.hasPrefix("\\"))
        }
    }

    @Test(
        arguments: [
            ([0x61, 0xFF, 0x62], "a\\xFFb"),
            ([0xC0, 0x80], "\\xC0\\x80"),  // an overlong NUL
            ([0xED, 0xA0, 0x80], "\\xED\\xA0\\x80"),  // a surrogate
            ([0xE2, 0x82], "\\xE2\\x82"),  // a euro sign cut short
            ([0xE2, 0x82, 0xAC], "€"),
            ([0xF4, 0x90, 0x80, 0x80], "\\xF4\\x90\\x80\\x80"),  // beyond U+10FFFF
            ([0xE2, 0x80, 0xAE], "\\u{202E}"),
        ] as [([UInt8], String)])
    func `bytes that aren't UTF-8 are escaped`(bytes: [UInt8], expected: String) {
        #expect(EscapedText(bytes: bytes).description == expected)
    }

    @Test func `bytes and text with the same characters are written alike`() {
        let text = hostileText + "é世🙂"
        #expect(EscapedText(bytes: Array(text.utf8)).description == EscapedText(text).description)
    }

    @Test func `text at the limit is complete and one byte more is cut`() {
        #expect(EscapedText("abcd", maximumBytes: 4).description == "abcd")
        #expect(EscapedText("abcde", maximumBytes: 4).description == "abcd…")
        #expect(EscapedText(bytes: Array("abcde".utf8), maximumBytes: 4).description == "abcd…")
    }

    @Test func `a cut never splits an escape sequence`() {
        #expect(EscapedText("ab\u{1B}c", maximumBytes: 5).description == "ab…")
    }
}
