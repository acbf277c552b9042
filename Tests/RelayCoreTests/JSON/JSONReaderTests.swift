import RelayCore
import StrictJSON
import Testing

@Suite("The JSON reader")
struct JSONReaderTests {
    @Test(
        arguments: [
            ("null", .null), ("true", .bool(true)), (" \t\r\nfalse ", .bool(false)), ("0", .integer(0)),
            ("-1", .integer(-1)), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .number("9223372036854775808")), ("-0", .number("-0")), ("1.50", .number("1.50")),
            ("1E+2", .number("1E+2")), ("-0.0e-10", .number("-0.0e-10")), (#""""#, .string("")),
            (#""a\"\\\/\b\f\n\r\t""#, .string("a\"\\/\u{8}\u{c}\n\r\t")), (#""\u00e4\u20AC""#, .string("ä€")),
            (#""\ud83d\ude00!""#, .string("😀!")), (#""\u0000""#, .string("\0")), (#""é€😀""#, .string("é€😀")),
            ("[]", .array([])), ("{}", .object(JSONObject())),
            ("[1,[2],{}]", array(1, array(2), .object(JSONObject()))),
            (
                #"{ "a" : { "b" : [ ] } , "c" : "\u0064" }"#,
                object(("a", object(("b", .array([])))), ("c", .string("d")))
            ),
        ] as [(String, JSONValue)])
    func `reads what the grammar allows`(text: String, value: JSONValue) throws {
        #expect(try JSONReader.read(bytes(text)) == value)
        #expect(JSONReader.isValid(bytes(text)))
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd), ("  ", .unexpectedEnd), ("nul", .unexpectedEnd), ("nulL", .unexpectedByte(at: 3)),
            ("[1,]", .unexpectedByte(at: 3)), ("[,1]", .unexpectedByte(at: 1)), ("[1 2]", .unexpectedByte(at: 3)),
            ("[1", .unexpectedEnd), ("[1}", .unexpectedByte(at: 2)), (#"{"a":1]"#, .unexpectedByte(at: 6)),
            ("{", .unexpectedEnd), ("{,}", .unexpectedByte(at: 1)), (#"{"a":1,}"#, .unexpectedByte(at: 7)),
            (#"{"a" 1}"#, .unexpectedByte(at: 5)), (#"{"a":}"#, .unexpectedByte(at: 5)), (#"{"a""#, .unexpectedEnd),
            ("{1:2}", .unexpectedByte(at: 1)), (#"{"a":1 "b":2}"#, .unexpectedByte(at: 7)),
            ("1 2", .unexpectedByte(at: 2)),
            ("1,", .unexpectedByte(at: 1)), ("]", .unexpectedByte(at: 0)), ("01", .unexpectedByte(at: 1)),
            ("-", .malformedNumber(at: 0)), ("[1.]", .malformedNumber(at: 1)), (".5", .unexpectedByte(at: 0)),
            ("+1", .unexpectedByte(at: 0)), ("1e", .malformedNumber(at: 0)), ("1e+", .malformedNumber(at: 0)),
            ("NaN", .unexpectedByte(at: 0)), ("'a'", .unexpectedByte(at: 0)), ("\u{feff}1", .unexpectedByte(at: 0)),
            ("// a\n1", .unexpectedByte(at: 0)), (#""a"#, .unexpectedEnd), ("[\"a\n\"]", .malformedString(at: 1)),
            (#""\x41""#, .malformedString(at: 0)), (#""\u12g4""#, .malformedString(at: 0)),
            (#""\u12""#, .malformedString(at: 0)),
            (#""\ud800""#, .malformedString(at: 0)), (#""\ud800\u0041""#, .malformedString(at: 0)),
            (#""\udc00\ud800""#, .malformedString(at: 0)), (#""\"#, .malformedString(at: 0)),
        ] as [(String, JSONDefect)])
    func `refuses everything else with its position`(text: String, error: JSONDefect) {
        #expect(throws: error) { try JSONReader.read(bytes(text)) }
        #expect(!JSONReader.isValid(bytes(text)))
    }

    @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]] as [[UInt8]])
    func `refuses bytes that aren't UTF-8`(content: [UInt8]) {
        let text = [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")]
        #expect(throws: JSONDefect.malformedString(at: 0)) { try JSONReader.read(text[...]) }
    }

    @Test func `reads to its depth limit and not deeper, with arrays and with objects`() throws {
        let depth = JSONReader.maximumDepth
        for (opening, closing) in [("[", "]"), (#"{"a":"#, "}")] {
            func nested(_ count: Int, _ inner: String) -> ArraySlice<UInt8> {
                bytes(String(repeating: opening, count: count) + inner + String(repeating: closing, count: count))
            }
            #expect(JSONReader.isValid(nested(depth, "1")))
            _ = try JSONReader.read(nested(depth, "1"))
            #expect(throws: JSONDefect.tooDeep) { try JSONReader.read(nested(depth, "[]")) }
            #expect(throws: JSONDefect.tooDeep) { try JSONReader.read(nested(20_000, "1")) }
        }
        // Closed containers don't count.
        #expect(JSONReader.isValid(bytes("[" + String(repeating: "[],", count: 1_000) + "{}]")))
    }

    @Test func `uses the last of equal names, and keeps all of them`() throws {
        guard case .object(let object) = try JSONReader.read(bytes(#"{"a":1,"b":2,"\u0061":3}"#)) else {
            return #expect(Bool(false))
        }
        #expect(object["a"] == .integer(3) && object["b"] == .integer(2) && object["c"] == nil)
        #expect(object.members.count == 3)
    }

    @Test func `doesn't treat similar names as equal`() throws {
        // The Kelvin sign is canonically equivalent to the letter K.
        guard case .object(let object) = try JSONReader.read(bytes("{\"to\u{212A}en\":1}")) else {
            return #expect(Bool(false))
        }
        #expect(object["toKen"] == nil)
    }

    @Test func `reads a slice that doesn't begin at zero, and counts from its beginning`() throws {
        let text = Array("xx[1,2]yy".utf8)
        #expect(try JSONReader.read(text[2..<7]) == array(1, 2))
        #expect(throws: JSONDefect.unexpectedByte(at: 5)) { try JSONReader.read(text[2...]) }
    }

    @Test func `refuses every proper prefix of a text`() {
        let text = Array(#"{"a":[1,-2.5e3,"\u00e4ö",true,null],"b":{}}"#.utf8)
        for end in text.indices {
            #expect(throws: JSONDefect.self) { try JSONReader.read(text[..<end]) }
        }
        #expect(JSONReader.isValid(text[...]))
    }
}

func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

func array(_ elements: JSONValue...) -> JSONValue { .array(elements) }

func object(_ members: (String, JSONValue)...) -> JSONValue {
    .object(JSONObject(members.map { JSONObject.Member($0.0, $0.1) }))
}

extension JSONValue: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self = .integer(value) }
}
