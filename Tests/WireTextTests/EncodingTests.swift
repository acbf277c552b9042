import Foundation
import Testing
import WireText

struct EncodingTests {
    @Test func `base64 of every length is read in both alphabets, padded or not`() {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 250) }
            let padded = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == padded)
            let bare = padded.filter { $0 != "=" }
            for text in [padded, bare] {
                let urlSafe = String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
                #expect(Base64.decode(text, maximumBytes: 70) == bytes)
                #expect(Base64.decode(urlSafe, maximumBytes: 70) == bytes)
            }
        }
    }

    @Test(arguments: [
        "A", "AAAAA", "=", "====", "A===", "AA=", "AA=A", "AAA==", "AAAA=", "AAAA====", "AB==", "AAB=", "AB", "AAB",
        "AA==\n", " AAAA", "AA AA", "A\u{0}AA", "AAAé", "A+A-", "_AA/", "AA==AA==", "＋AAA",
    ])
    func `a second encoding of the same bytes is refused`(text: String) {
        #expect(Base64.decode(text, maximumBytes: 100) == nil)
    }

    @Test func `base64 is read up to the limit and not one byte above`() {
        for limit in [0, 1, 2, 3, 16, 31, 32, 33] {
            let atLimit = Data(repeating: 1, count: limit).base64EncodedString()
            let above = Data(repeating: 1, count: limit + 1).base64EncodedString()
            #expect(Base64.decode(atLimit, maximumBytes: limit)?.count == limit)
            #expect(Base64.decode(above, maximumBytes: limit) == nil)
        }
    }

    @Test(arguments: [
        "AA", "AAA", "AA=", "AB==", "AAB=", "AA==\n", "AA-A", "AA_A", "AA==AA==", "A===", "====", "AAAA====",
    ])
    func `a canonical text is refused in any other form`(text: String) {
        #expect(Base64.decode(canonical: text, maximumBytes: 100) == nil)
    }

    @Test func `a canonical text is accepted, up to the limit`() {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 250) }
            #expect(Base64.decode(canonical: Base64.encode(bytes), maximumBytes: length) == bytes)
            if length > 0 { #expect(Base64.decode(canonical: Base64.encode(bytes), maximumBytes: length - 1) == nil) }
        }
    }

    @Test func `base64url is written as Foundation writes it, without padding, and read back`() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + count) }
            let text = Base64URL.encode(bytes)
            let expected = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            #expect(text == expected.replacing("=", with: ""))
            #expect(Base64URL.decode(text) == bytes)
        }
    }

    @Test(arguments: ["A", "AAAAA", "AA==", "AA=", "AB", "AAB", "A+AA", "A/AA", "AA A", "AA\n", "AAé"])
    func `base64url has one text for each value`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func `hexadecimal digits are written in lower case and read in both`() {
        let all = (0...255).map { UInt8($0) }
        let text = Hexadecimal.encode(all)
        #expect(text == text.lowercased())
        #expect(Hexadecimal.decode(text, count: 256) == all)
        #expect(Hexadecimal.decode(text.uppercased(), count: 256) == all)
        #expect(Hexadecimal.decode(text, count: 255) == nil)
    }

    @Test(arguments: ["0g", "g0", "-1", "+1", " 1", "0x", "１", "1", "123", ""])
    func `other characters and lengths are refused`(text: String) {
        #expect(Hexadecimal.decode(text, count: 1) == nil)
    }

    @Test func `only ASCII has a lower case here`() {
        #expect(ASCIIByte.lowercased("UpGrade") == "upgrade")
        #expect(ASCIIByte.lowercased("\u{212A}") == nil)
        #expect(ASCIIByte.isSame("WebSocket", "websocket"))
        #expect(!ASCIIByte.isSame("\u{212A}", "k"))
        for byte in UInt8.min...UInt8.max {
            let scalar = Unicode.Scalar(byte)
            #expect(ASCIIByte.isDigit(byte) == ("0"..."9").contains(scalar))
            #expect(ASCIIByte.isLetter(byte) == (("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)))
            #expect(ASCIIByte.isBlank(byte) == (scalar == " " || scalar == "\t"))
        }
    }

    @Test func `only leading and trailing blanks are trimmed`() {
        #expect(Array(Array(" \t a b\t".utf8).trimmed(where: ASCIIByte.isBlank)) == Array("a b".utf8))
        #expect(Array(" \t ".utf8).trimmed(where: ASCIIByte.isBlank).isEmpty)
        #expect([UInt8]().trimmed(where: ASCIIByte.isBlank).isEmpty)
    }
}
