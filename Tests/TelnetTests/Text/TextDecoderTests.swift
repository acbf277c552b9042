import Testing

@testable import Telnet

@Suite struct TextDecoderTests {
    private func decode(_ pieces: [[UInt8]], as encoding: TextEncoding) -> String? {
        var decoder = TextDecoder(encoding: encoding)
        var output: [UInt8] = []
        for piece in pieces {
            var input = piece[...]
            while !input.isEmpty {
                let before = input.count
                output += decoder.decode(&input, limit: 16)
                #expect(input.count < before)
            }
        }
        output += decoder.flush()
        return String(validating: output, as: UTF8.self)
    }

    private static let samples: [(bytes: [UInt8], text: String)] = [
        (Array("plain".utf8), "plain"),
        (Array("aé☃🐉z".utf8), "aé☃🐉z"),
        ([0x63, 0xE9], "cé"),
        ([0xE9, 0x0D, 0x0A], "é\r\n"),
        ([0x41, 0x00, 0x42, 0x0D, 0x00], "AB\r"),
        // Overlong forms, a surrogate, above U+10FFFF, a lone continuation byte, and bytes that never occur in UTF-8.
        ([0xC0, 0xAF], "À¯"), ([0xE0, 0x80, 0x80], "à\u{80}\u{80}"), ([0xED, 0xA0, 0x80], "í\u{A0}\u{80}"),
        ([0xF4, 0x90, 0x80, 0x80], "ô\u{90}\u{80}\u{80}"), ([0x80], "\u{80}"), ([0xFE, 0xFF], "þÿ"),
        ([0xF0, 0x9F, 0x90], "ð\u{9F}\u{90}"), ([0xE2, 0x98, 0x41], "â\u{98}A"), ([0xE2, 0xE2, 0x98, 0x83], "â☃"),
        ([0xEE, 0x80, 0x80, 0xF4, 0x8F, 0xBF, 0xBF], "\u{E000}\u{10FFFF}"),
    ]

    @Test func `invalid sequences are Latin-1 and the rest is UTF-8`() {
        for sample in Self.samples { #expect(decode([sample.bytes], as: .utf8) == sample.text, "\(sample.bytes)") }
    }

    @Test func `the result doesn't depend on where the text is split`() {
        let all: [UInt8] = Self.samples.flatMap { (sample) -> [UInt8] in sample.bytes + [UInt8(0x2E)] }
        let whole = decode([all], as: .utf8)
        #expect(whole == Self.samples.map { $0.text + "." }.joined())
        for encoding in TextEncoding.allCases {
            let whole = decode([all], as: encoding)
            #expect(whole != nil)
            for cut in 0...all.count {
                #expect(decode([Array(all[..<cut]), Array(all[cut...])], as: encoding) == whole, "\(encoding) \(cut)")
            }
            #expect(decode(all.map { [$0] }, as: encoding) == whole)
        }
    }

    @Test func `every pair of bytes is read as by the standard library or as Latin-1`() {
        for first in UInt8(0x80)...0xFF {
            for second in UInt8.min...0xFF where second != 0 {
                let bytes = [first, second, 0x21]
                let expected =
                    String(validating: bytes, as: UTF8.self)
                    ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
                #expect(decode([bytes], as: .utf8) == expected, "\(bytes)")
            }
        }
    }

    @Test func `a step returns no more than its limit`() {
        for encoding in TextEncoding.allCases {
            for byte: UInt8 in [0x41, 0xB0, 0xE9, 0xFF] {
                var decoder = TextDecoder(encoding: encoding)
                var input = [UInt8](repeating: byte, count: 1000)[...]
                while !input.isEmpty { #expect(decoder.decode(&input, limit: 100).count <= 100) }
            }
        }
    }

    @Test func `text up to the limit is one piece`() {
        var decoder = TextDecoder(encoding: .utf8)
        var input = [UInt8](repeating: 65, count: 100)[...]
        #expect(decoder.decode(&input, limit: 100).count == 100)
        #expect(input.isEmpty)
    }

    @Test func `a string is read without a limit`() {
        for sample in Self.samples {
            #expect(TextDecoder.string((sample.bytes + sample.bytes)[sample.bytes.count...]) == sample.text)
        }
    }
}
