import Foundation
import Testing
import WireText

struct JSONWriterTests {
    @Test func `an object has its members in the order of writing`() throws {
        var writer = JSONWriter()
        #expect(text(writer.object) == "{}")
        writer.member("b", "x")
        writer.member("a", -5)
        writer.member("t", true)
        writer.member("l", ["1", "2"])
        writer.member("e", [String]())
        writer.member("o", json: Array("{}".utf8))
        #expect(text(writer.object) == #"{"b":"x","a":-5,"t":true,"l":["1","2"],"e":[],"o":{}}"#)
    }

    @Test func `strings are escaped as another encoder escapes them`() throws {
        let all = String(String.UnicodeScalarView((0..<0x80).compactMap(Unicode.Scalar.init))) + "é\u{2028}😀"
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        var bytes: [UInt8] = []
        JSONWriter.append(string: all, to: &bytes)
        #expect(text(bytes) == text(Array(try encoder.encode(all))))
    }

    @Test func `a member that would exceed the limit is left out, one that reaches it isn't`() {
        var writer = JSONWriter()
        let (name, value) = (Array(#""a""#.utf8), Array("12".utf8))
        let first = writer.member(escaped: name, json: value, maximumBytes: 7)
        #expect(first && text(writer.bytes) == #"{"a":12"#)
        let above = writer.member(escaped: name, json: value, maximumBytes: 13)
        #expect(!above && text(writer.object) == #"{"a":12}"#)
        let reached = writer.member(escaped: name, json: value, maximumBytes: 14)
        #expect(reached && text(writer.bytes) == #"{"a":12,"a":12"#)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
