import Testing

@testable import portcullis_sim

struct StreamPatternTests {
    static let patterns: [StreamPattern] = [.bytes(seed: 7), .text(seed: 7), .typed(seed: 7), .numbered]

    @Test(arguments: patterns)
    func `a piece is the same wherever the stream is cut`(pattern: StreamPattern) {
        let whole = pattern.bytes(0..<500)
        for start in 0..<80 {
            for end in [start, start + 1, start + 7, start + 130, 500] {
                #expect(pattern.bytes(UInt64(start)..<UInt64(end)) == Array(whole[start..<end]))
            }
        }
    }

    @Test func `streams of different seeds differ`() {
        #expect(StreamPattern.bytes(seed: 1).bytes(0..<64) != StreamPattern.bytes(seed: 2).bytes(0..<64))
    }

    @Test func `text has only letters, digits, hyphens and underscores`() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        #expect(Set(StreamPattern.text(seed: 3).bytes(0..<20_000)) == alphabet)
    }

    @Test func `typed lines have 20 to 200 bytes and end in CRLF`() {
        let pattern = StreamPattern.typed(seed: 11)
        var position: UInt64 = 0
        var lengths: Set<UInt64> = []
        for _ in 0..<2_000 {
            let end = pattern.lineEnd(after: position)
            let line = pattern.bytes(position..<end)
            #expect(line.suffix(2) == [0x0D, 0x0A])
            #expect(!line.dropLast(2).contains { $0 == 0x0D || $0 == 0x0A })
            lengths.insert(end - position)
            position = end
        }
        #expect(lengths.min() == 20)
        #expect(lengths.max() == 200)
    }

    @Test func `a numbered line contains its number`() {
        let lines = StreamPattern.numbered.bytes(0..<64 * 1_235)
        for number in [0, 9, 10, 1_234] {
            let line = lines[number * 64..<number * 64 + 64]
            let text = String(decoding: line, as: UTF8.self)
            #expect(Int(text.prefix(12)) == number)
            #expect(text.dropFirst(12).hasPrefix(" "))
            #expect(line.suffix(2) == [0x0D, 0x0A])
        }
    }

    @Test func `screens have a quarter to four kilobytes`() {
        let sizes = Set((0..<5_000).map { Screen.bytes(afterLine: $0) })
        #expect(sizes.min() == 256)
        #expect(sizes.max() == 4_096)
    }
}
