import Admission
import Testing

@Suite struct InternalTokenTests {
    private let text = String(repeating: "a", count: 31) + "~"

    @Test(arguments: ["", "\n", "\r\n"])
    func `a token matches itself alone`(end: String) throws {
        let token = try InternalToken(text + end)
        #expect(token.matches(text))
        for other in ["", String(text.dropLast()), text + "~", text.uppercased(), " " + text, text + "\n"] {
            #expect(!token.matches(other), "\(other)")
        }
        #expect(try token == InternalToken(text) && token != InternalToken(text + "b"))
        #expect(!"\(token)".contains(text))
    }

    @Test(arguments: [31, 513]) func `a token of another length is refused`(count: Int) {
        #expect(throws: OperatorListError.self) { try InternalToken(String(repeating: "a", count: count)) }
    }

    @Test(arguments: [32, 512]) func `a token of the least and the largest length is taken`(count: Int) throws {
        let text = String(repeating: "a", count: count)
        #expect(try InternalToken(text).matches(text))
    }

    @Test func `a token is one line of visible characters`() {
        for content in [text + "\n" + text, text + " " + text, text + "\u{7F}", text + "ü", "\n"] {
            #expect(throws: OperatorListError.self) { try InternalToken(content) }
        }
    }
}
