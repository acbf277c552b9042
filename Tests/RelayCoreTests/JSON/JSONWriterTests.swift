import RelayCore
import StrictJSON
import Testing
import WireText

@Suite("The JSON writer")
struct JSONWriterTests {
    @Test func `writes every kind of value, compactly`() {
        let value = object(
            ("a", .array([.null, .bool(true), .bool(false), 7, -7, .number("1.50e3")])), ("", .object(JSONObject())),
            ("ä", .string("€😀/")))
        #expect(written(value) == #"{"a":[null,true,false,7,-7,1.50e3],"":{},"ä":"€😀/"}"#)
    }

    @Test func `escapes what must be escaped, as JSON.stringify spells it, and nothing else`() {
        let text = "\"\\/\u{0}\u{1}\u{8}\t\n\u{b}\u{c}\r\u{f}\u{10}\u{1b}\u{1f} \u{7f}\u{2028}"
        #expect(
            written(.string(text))
                == #""\"\\/\u0000\u0001\b\t\n\u000b\f\r\u000f\u0010\u001b\u001f "# + "\u{7f}\u{2028}\"")
    }

    @Test func `writes back what was read, byte for byte if it was compact`() throws {
        for text in [#"{"a":1,"a":2}"#, "[1e400,-0,18446744073709551616]", #"["\u0000"]"#, "[[],{}]"] {
            #expect(written(try JSONReader.read(bytes(text))) == text)
        }
    }
}

func written(_ value: JSONValue) -> String {
    var bytes: [UInt8] = []
    JSONWriter.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
}
