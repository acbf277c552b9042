import Foundation
import KeyStore
import Testing

@Suite("A key identifier")
struct KeyIDTests {
    /// Contains every symbol in which base64 and base64url differ.
    static let bytes: [UInt8] = [0xFB, 0xEF, 0xBE, 0xFF, 0xFF, 0xFF] + [UInt8](0..<26)
    static let standard = Data(bytes).base64EncodedString()
    static let urlSafe = standard.replacing("+", with: "-").replacing("/", with: "_")

    @Test(arguments: [standard, urlSafe])
    func `is read from base64 and base64url, padded or not, into one form`(text: String) throws {
        #expect(Self.standard != Self.urlSafe && text.count == 44)
        for spelling in [text, String(text.dropLast())] {
            let id = try #require(KeyID(text: spelling))
            #expect(id.bytes == Self.bytes)
            #expect(id.base64 == Self.standard)
        }
    }

    @Test(arguments: [0, 31, 33, 64])
    func `has exactly 32 bytes`(length: Int) {
        let bytes = [UInt8](repeating: 0xA5, count: length)
        #expect(KeyID(bytes: bytes) == nil)
        #expect(KeyID(text: Data(bytes).base64EncodedString()) == nil)
        #expect(KeyID(bytes: [UInt8](repeating: 0xA5, count: KeyID.length)) != nil)
    }

    static let looseTexts: [String] = {
        let head = String(standard.dropLast(2))
        let tail = String(standard.dropFirst())
        return [
            "", "=", standard + "=", standard.dropLast() + "==", " " + standard, standard + "\n", "\n" + tail,
            // The last symbol carries two bits that encode nothing.
            head + "l=", head + "l",
            // Leading padding, a symbol of neither alphabet, both alphabets, a non-ASCII letter.
            "=" + tail, "*" + tail, "-" + tail, "é" + tail.dropFirst(),
            String(repeating: "A", count: 100_000),
        ]
    }()

    @Test(arguments: looseTexts)
    func `is not read from text that isn't strict base64`(text: String) {
        #expect(KeyID(text: text) == nil)
    }

    @Test func `has one canonical text for each of the 64 last symbols that differ in meaningful bits`() {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        let head = String(repeating: "A", count: 42)
        let accepted = alphabet.filter { KeyID(text: head + String($0)) != nil }
        #expect(accepted == "AEIMQUYcgkosw048")
    }

    @Test func `is ordered by its bytes`() {
        #expect(KeyID.sample(1) < KeyID.sample(2))
        #expect(KeyID.sample(0x7F) < KeyID.sample(0x80))
        #expect(!(KeyID.sample(3) < KeyID.sample(3)))
    }
}
