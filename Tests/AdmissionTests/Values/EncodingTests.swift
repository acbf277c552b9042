import Foundation
import KeyStore
import Testing

@testable import Admission

struct EncodingTests {
    @Test func `base64 of every length is read in both alphabets, padded or not`() {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 250) }
            let padded = Data(bytes).base64EncodedString()
            #expect(StrictBase64.encode(bytes) == padded)
            let bare = padded.filter { $0 != "=" }
            for text in [padded, bare] {
                let urlSafe = String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
                #expect(StrictBase64.decode(text, maximumBytes: 70) == bytes)
                #expect(StrictBase64.decode(urlSafe, maximumBytes: 70) == bytes)
            }
        }
    }

    @Test(arguments: [
        "A", "AAAAA", "=", "====", "A===", "AA=", "AA=A", "AAA==", "AAAA=", "AAAA====", "AB==", "AAB=", "AB", "AAB",
        "AA==\n", " AAAA", "AA AA", "A\u{0}AA", "AAAé", "A+A-", "_AA/", "AA==AA==", "＋AAA",
    ])
    func `a second way to write the same bytes is refused`(text: String) {
        #expect(StrictBase64.decode(text, maximumBytes: 100) == nil)
    }

    @Test func `base64 is read up to the limit and not one byte above`() {
        for limit in [0, 1, 2, 3, 16, 31, 32, 33] {
            let atLimit = Data(repeating: 1, count: limit).base64EncodedString()
            let above = Data(repeating: 1, count: limit + 1).base64EncodedString()
            #expect(StrictBase64.decode(atLimit, maximumBytes: limit)?.count == limit)
            #expect(StrictBase64.decode(above, maximumBytes: limit) == nil)
        }
    }

    @Test func `hexadecimal digits are written in lower case and read in both`() {
        let all = (0...255).map { UInt8($0) }
        let text = Hexadecimal.encode(all)
        #expect(text == text.lowercased())
        #expect(Hexadecimal.decode(text, count: 256) == all)
        #expect(Hexadecimal.decode(text.uppercased(), count: 256) == all)
        #expect(Hexadecimal.decode(text, count: 255) == nil)
    }
}
