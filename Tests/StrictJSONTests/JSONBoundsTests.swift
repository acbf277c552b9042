import StrictJSON
import Testing

@Suite("What a caller's bounds make of a JSON text")
struct JSONBoundsTests {
    private static let bounds = [JSONBounds.RepeatedNames.refused, .kept].map { names in
        JSONBounds(
            maximumBytes: 40, maximumDepth: 3, maximumValues: 5, maximumNumberBytes: 6, repeatedNames: names)
    }

    private func defect(_ text: String, _ bounds: JSONBounds) -> JSONDefect? {
        let bytes = Array(text.utf8)[...]
        do throws(JSONDefect) {
            _ = try JSONReader.read(bytes, within: bounds)
            #expect(JSONReader.isValid(bytes, within: bounds), "\(text)")
            return nil
        } catch {
            #expect(!JSONReader.isValid(bytes, within: bounds), "\(text)")
            return error
        }
    }

    @Test(arguments: bounds)
    func `each is kept to exactly, whichever reader finds it`(bounds: JSONBounds) {
        let quoted = { (count: Int) in "\"" + String(repeating: "a", count: count - 2) + "\"" }
        #expect(defect(quoted(40), bounds) == nil && defect(quoted(41), bounds) == .tooLong)
        #expect(defect("[{\"a\":[]}]", bounds) == nil && defect("[{\"a\":[[]]}]", bounds) == .tooDeep)
        #expect(defect("[1,{\"a\":2},3]", bounds) == nil && defect("[1,{\"a\":2},3,4]", bounds) == .tooManyValues)
        #expect(defect("-1.5e9", bounds) == nil && defect("[-1.5e99]", bounds) == .malformedNumber(at: 1))
    }

    @Test(arguments: bounds)
    func `a value that is missing counts as one that is there`(bounds: JSONBounds) {
        #expect(defect("[1,2,3,4,", bounds) == .tooManyValues && defect("[1,2,3,", bounds) == .unexpectedEnd)
        #expect(defect("[1,2,3,4,]", bounds) == .tooManyValues)
        #expect(defect("[1,2,3,]", bounds) == .unexpectedByte(at: 7))
    }

    @Test func `containers may be nested as deep as a word has bits, and are told apart there`() {
        let bounds = JSONBounds(
            maximumBytes: 1_000, maximumDepth: JSONBounds.deepest, maximumValues: 100, maximumNumberBytes: 1)
        func nested(_ pairs: Int, _ inner: String) -> String {
            String(repeating: #"{"a":["#, count: pairs) + inner + String(repeating: "]}", count: pairs)
        }
        #expect(defect(nested(32, "1"), bounds) == nil && defect(nested(32, "{}"), bounds) == .tooDeep)
        #expect(defect(nested(31, #"{"a":{}}"#), bounds) == nil)
        #expect(defect(nested(32, "}"), bounds) == .unexpectedByte(at: 192))
    }

    @Test func `names are refused or kept if they are repeated, however they are written`() throws {
        let (refused, kept) = (Self.bounds[0], Self.bounds[1])
        for (text, place) in [
            (#"{"a":1,"a":2}"#, 7), (#"{"a":1,"b":2,"\u0061":3}"#, 13), (#"[{"a":{"b":1,"b":2}}]"#, 13),
            (#"{"a":[],"a":[]}"#, 8),
        ] {
            #expect(defect(text, refused) == .duplicateMember(at: place) && defect(text, kept) == nil, "\(text)")
        }
        for text in [#"{"a":{"a":1},"b":{"a":1}}"#, "{\"K\":1,\"\u{212A}\":2}", "{\"\u{E9}\":1,\"e\u{301}\":2}"] {
            #expect(defect(text, refused) == nil && defect(text, kept) == nil, "\(text)")
        }
        #expect(throws: JSONDefect.notAnObject) { try JSONReader.readObject(Array("[]".utf8), within: refused) }
    }

    @Test func `a text has one meaning for all who read it, over seeded mutations`() {
        var generator = SplitMix(state: 8259)
        let strict = JSONBounds(maximumBytes: 64, maximumDepth: 3, maximumValues: 12, maximumNumberBytes: 6)
        let lax = JSONBounds(
            maximumBytes: .max, maximumDepth: 32, maximumValues: .max, maximumNumberBytes: .max, repeatedNames: .kept)
        let alphabet = Array(#"{}[]",:\u0159abE+-. "#.utf8) + [0x80, 0xC3, 0xFF, 0x00]
        var (both, onlyLax) = (0, 0)
        for _ in 0..<20_000 {
            var text = Array((Self.corpus.randomElement(using: &generator) ?? "").utf8)
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                text[Int.random(in: text.indices, using: &generator)] = alphabet.randomElement(using: &generator) ?? 0
            }
            let (one, other) = (result(text, strict), result(text, lax))
            if let value = try? one.get() {
                both += 1
                #expect((try? other.get()) == value)
            } else if case .failure(let defect) = one, (try? other.get()) != nil {
                onlyLax += 1
                #expect(Self.isOfBounds(defect), "\(defect) of \(String(decoding: text, as: UTF8.self))")
            }
        }
        #expect(both > 2_000 && onlyLax > 200)
    }

    private static let corpus = [
        #"{"typ":"dpop+jwt","alg":"ES256"}"#, #"{"a":1,"b":[1,2,{"a":-0.5}],"a":2}"#,
        #"[0,-1,1.5,2e3,true,false,null]"#,
        #"{"type":"input","text":"say \"hi\"\r\n"}"#, #"["\u00e4\u20ac\ud83d\ude00","ä€😀"]"#, "[[[[1]]]]", "12345678",
        #" { "x" : [ 1 , 2 ] , "y" : { } } "#,
    ]

    private func result(_ text: [UInt8], _ bounds: JSONBounds) -> Result<JSONValue, JSONDefect> {
        Result { () throws(JSONDefect) in try JSONReader.read(text[...], within: bounds) }
    }

    private static func isOfBounds(_ defect: JSONDefect) -> Bool {
        switch defect {
        case .tooLong, .tooDeep, .tooManyValues, .malformedNumber, .duplicateMember: true
        default: false
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
