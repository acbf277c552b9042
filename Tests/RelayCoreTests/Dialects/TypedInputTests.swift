import Testing

@testable import RelayCore

@Suite("The typed protocol's input, read without building anything")
struct TypedInputTests {
    private static let plainForms: [String] = [
        #"{"type":"input","text":"look"}"#, #"{"text":"","type":"input"}"#,
        #" { "cid" : 7 , "text":"é～","type":"input" } "#,
        #"{"type":"input","text":"a","cid":999999999999999}"#,
    ]

    /// All that the general reader may see another way, or refuses.
    private static let otherForms: [String] = [
        #"{"type":"input","text":"a\n"}"#, #"{"type":"\u0069nput","text":"a"}"#, #"{"type":"input","te\u0078t":"a"}"#,
        #"{"type":"input","text":"a","text":"b"}"#, #"{"type":"input","type":"naws","text":"a"}"#,
        #"{"type":"input","text":"a","cid":1,"cid":2}"#, #"{"type":"input","text":"a","cid":0}"#,
        #"{"type":"input","text":"a","cid":-1}"#, #"{"type":"input","text":"a","cid":1.0}"#,
        #"{"type":"input","text":"a","cid":1e0}"#, #"{"type":"input","text":"a","cid":null}"#,
        #"{"type":"input","text":"a","cid":1000000000000000}"#, #"{"type":"input","text":"a","more":[]}"#,
        #"{"type":"input","text":"a"}x"#, #"{"type":"input","text":"a"},"#, #"{"type":"input","text":"a""#,
        #"{"type":"input"}"#, #"{"text":"a"}"#, #"{"type":"input","text":1}"#, #"{"type":"Input","text":"a"}"#, "{}",
        "[]", "",
        #"["type","input","text","a"]"#, #"{"type":"input","text":"a",}"#, #"{"type":["input"],"text":"a"}"#,
    ]

    @Test("takes the plain form as the general reader does", arguments: plainForms)
    func plain(_ message: String) throws {
        let bytes = Array(message.utf8)[...]
        let input = try #require(TypedInput(bytes))
        #expect(try TypedMessage(JSONObject(message: bytes)).command() == .input(input.text, cid: input.cid))
    }

    @Test("says nothing about any other form", arguments: otherForms)
    func other(_ message: String) {
        #expect(TypedInput(Array(message.utf8)[...]) == nil)
    }

    @Test("leaves what isn't UTF-8 to the general reader")
    func invalidUTF8() {
        let message = Array(#"{"type":"input","text":""#.utf8) + [0xC3, 0x28] + Array(#""}"#.utf8)
        #expect(TypedInput(message[...]) == nil)
    }

    @Test("agrees with the general reader about every message with one byte changed, and about every beginning of one")
    func changed() throws {
        for message in Self.plainForms {
            let bytes = Array(message.utf8)
            for index in bytes.indices {
                check(bytes[..<index])
                for change: UInt8 in [0x01, 0x02, 0x20, 0x80] {
                    var changed = bytes
                    changed[index] ^= change
                    check(changed[...])
                }
            }
        }
    }

    private func check(_ message: ArraySlice<UInt8>) {
        guard let input = TypedInput(message) else { return }
        let expected = try? TypedMessage(JSONObject(message: message)).command()
        #expect(expected == .input(input.text, cid: input.cid), "\(Array(message))")
    }
}
