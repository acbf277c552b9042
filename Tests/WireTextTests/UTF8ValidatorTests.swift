import Testing
import WireText

@Suite("UTF-8 in pieces")
struct UTF8ValidatorTests {
    private static func verdict(_ bytes: [UInt8], cutAt cut: Int? = nil) -> Bool {
        var validator = UTF8Validator()
        let pieces = cut.map { [Array(bytes[..<$0]), Array(bytes[$0...])] } ?? [bytes]
        let accepted = pieces.allSatisfy { validator.accept($0.span) == $0.count }
        return accepted && validator.isComplete
    }

    /// The standard library's decoder is the reference.
    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
    }

    @Test func `validates every sequence of two bytes as the standard library does`() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max where Self.verdict([first, second]) != Self.isUTF8([first, second]) {
                Issue.record("\(first) \(second)")
            }
        }
    }

    @Test func `validates the edges of longer sequences as the standard library does`() {
        let edges: [UInt8] = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        for first in UInt8(0xE0)...0xFF {
            for second in edges {
                for third in edges {
                    let three = [first, second, third]
                    if Self.verdict(three) != Self.isUTF8(three) { Issue.record("\(three)") }
                    for fourth in edges where Self.verdict(three + [fourth]) != Self.isUTF8(three + [fourth]) {
                        Issue.record("\(three + [fourth])")
                    }
                }
            }
        }
    }

    @Test func `doesn't depend on where the bytes are split`() {
        let good = Array("aé€😀\u{10FFFF}z".utf8)
        let bad = good + [0xED, 0xA0, 0x80]
        for cut in 0...good.count {
            #expect(Self.verdict(good, cutAt: cut))
            #expect(!Self.verdict(bad, cutAt: cut))
        }
    }

    @Test func `reports the position of the first wrong byte, after ASCII of any length`() {
        for count in 0...80 {
            for wrong in [[0x80], [0xFF], [0xC2, 0x41], [0xE2, 0x82, 0x41]] as [[UInt8]] {
                var validator = UTF8Validator()
                let bytes = [UInt8](repeating: 0x61, count: count) + wrong + [0x61]
                #expect(validator.accept(bytes.span) == count + wrong.count - 1)
            }
            var validator = UTF8Validator()
            let bytes = [UInt8](repeating: 0x61, count: count) + Array("é".utf8) + [UInt8](repeating: 0x62, count: 40)
            #expect(validator.accept(bytes.span) == bytes.count && validator.isComplete)
        }
    }

    @Test func `detects an incomplete character`() {
        #expect(!Self.verdict([0xE2, 0x82]))
    }
}
