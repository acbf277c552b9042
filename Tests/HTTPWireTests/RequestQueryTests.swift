import HTTPWire
import Testing

/// Query parameters: each has one meaning or is malformed.
struct RequestQueryTests {
    @Test func `a parameter's value begins after its first equals sign`() {
        let query = Self.query("a=1&b=x=y&c&d=&=e")
        #expect(query["a"] == .value("1"))
        #expect(query["b"] == .value("x=y"))
        #expect(query["c"] == .value(""))
        #expect(query["d"] == .value(""))
        #expect(query[""] == .value("e"))
        #expect(query["A"] == .absent)
        #expect(query["e"] == .absent)
    }

    @Test func `a name doesn't match a longer one that begins with it`() {
        #expect(Self.query("ticketed=1")["ticket"] == .absent)
        #expect(Self.query("tick=1")["ticket"] == .absent)
    }

    @Test func `without a query everything is absent`() {
        #expect(RequestQuery(nil)["a"] == .absent)
        #expect(Self.query("")["a"] == .absent && Self.query("")[""] == .absent && Self.query("&&")[""] == .absent)
    }

    @Test func `escapes and plus signs are decoded in names and values`() {
        #expect(Self.query("%61+b=%2b+%26%3D%3b;%E2%9C%93")["a b"] == .value("+ &=;;✓"))
        #expect(Self.query("a=Grüße")["a"] == .value("Grüße"))
    }

    @Test(arguments: ["a=1&b=2&a=1", "a&b=2&a", "a=1&%61=2&b=2", "a=1&a&b=2"])
    func `a repeated parameter has no value, others keep theirs`(text: String) {
        #expect(Self.query(text)["a"] == .malformed)
        #expect(Self.query(text)["b"] == .value("2"))
    }

    @Test(arguments: [
        "%", "%4", "%4g", "%g4", "x%", "%C0%80", "%FF", "%ED%A0%80", "%1F", "%7F", "%0D", "%0A", "%00", "%09", "%E2%82",
    ])
    func `a value that is not plain text is malformed, others keep theirs`(value: String) {
        #expect(Self.query("a=\(value)&b=2")["a"] == .malformed)
        #expect(Self.query("a=\(value)&b=2")["b"] == .value("2"))
    }

    @Test func `a name with a malformed escape makes every parameter malformed`() {
        for name in ["%", "b%4", "%zz"] { #expect(Self.query("a=1&\(name)=2")["a"] == .malformed) }
        #expect(Self.query("a=1&%FF=2&%00=3")["a"] == .value("1"))
    }

    @Test func `the longest value is one of 4,096 bytes, decoded`() {
        #expect(RequestQuery.maximumValueBytes == 4_096)
        let longest = String(repeating: "x", count: 4_095)
        #expect(Self.query("a=%78" + longest)["a"] == .value("x" + longest))
        #expect(Self.query("a=xx" + longest)["a"] == .malformed)
    }

    @Test func `with more than sixteen parameters all are malformed`() {
        #expect(RequestQuery.maximumParameters == 16)
        let most = "a=1" + String(repeating: "&b=2", count: 15)
        #expect(Self.query(most)["a"] == .value("1"))
        for tooMany in [most + "&c=3", "&" + most, most + "&a=2"] {
            #expect(Self.query(tooMany)["a"] == .malformed)
            #expect(Self.query(tooMany)["d"] == .malformed)
        }
    }

    private static func query(_ text: String) -> RequestQuery { RequestQuery(Array(text.utf8)[...]) }
}
