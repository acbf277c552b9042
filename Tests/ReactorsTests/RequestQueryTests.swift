import Testing

@testable import Reactors

/// Parameters of a query: one meaning or none. That libwebsockets decodes as said here, `UpgradeRequestTests` shows.
struct RequestQueryTests {
    @Test func `a parameter has the value behind its first equals sign`() {
        let query = Self.query("a=1", "b=x=y", "c", "d=", "=e")
        #expect(query["a"] == .value("1"))
        #expect(query["b"] == .value("x=y"))
        #expect(query["c"] == .value(""))
        #expect(query["d"] == .value(""))
        #expect(query[""] == .value("e"))
        #expect(query["A"] == .absent)
        #expect(query["e"] == .absent)
    }

    @Test func `a name is not taken for a longer one that begins with it`() {
        #expect(Self.query("ticketed=1")["ticket"] == .absent)
        #expect(Self.query("tick=1")["ticket"] == .absent)
    }

    @Test func `without a query everything is absent`() {
        #expect(Self.query()["a"] == .absent)
        #expect(Self.query("")["a"] == .absent)
    }

    @Test func `a parameter that is there twice has no value, others keep theirs`() {
        let query = Self.query("a=1", "b=2", "a=1")
        #expect(query["a"] == .malformed)
        #expect(query["b"] == .value("2"))
    }

    @Test(
        arguments: [[0xC0, 0x80], [0xFF], [0xED, 0xA0, 0x80], [0x1F], [0x7F], [0x0D], [0x0A], [0xE2, 0x82]] as [[UInt8]]
    )
    func `a value that is not plain text is malformed`(bytes: [UInt8]) {
        #expect(RequestQuery(pieces: [Array("a=".utf8) + bytes])["a"] == .malformed)
    }

    @Test func `text in UTF-8 is a value`() {
        #expect(Self.query("a=Grüße ✓")["a"] == .value("Grüße ✓"))
    }

    @Test func `the longest value is one of 4,096 bytes`() {
        let longest = String(repeating: "x", count: RequestQuery.maximumValueBytes)
        #expect(Self.query("a=" + longest)["a"] == .value(longest))
        #expect(Self.query("a=x" + longest)["a"] == .malformed)
    }

    @Test func `with more than sixteen parameters none has a value`() {
        let most = ["a=1"] + Array(repeating: "b=2", count: RequestQuery.maximumParameters - 1)
        #expect(RequestQuery(pieces: most.map { Array($0.utf8) })["a"] == .value("1"))
        let tooMany = RequestQuery(pieces: (most + ["c=3"]).map { Array($0.utf8) })
        #expect(tooMany["a"] == .malformed)
        #expect(tooMany["d"] == .malformed)
    }

    private static func query(_ pieces: String...) -> RequestQuery {
        RequestQuery(pieces: pieces.map { Array($0.utf8) })
    }
}

struct SubprotocolOfferTests {
    private static let known = ["telnet", "gmcp.mudstandards.org", "json.mudstandards.org"]

    @Test(
        arguments: [
            (nil, nil), ("", nil), ("x", nil), ("telnet", "telnet"), ("x, telnet", "telnet"),
            ("json.mudstandards.org,telnet", "json.mudstandards.org"),
            (" \tgmcp.mudstandards.org\t , x", "gmcp.mudstandards.org"),
            ("Telnet", nil), ("telne", nil), ("telnet x", nil), (",,telnet", "telnet"),
        ] as [(String?, String?)])
    func `the first known name in the client's order is chosen`(header: String?, chosen: String?) {
        #expect(SubprotocolOffer.choose(from: header, known: Self.known) == chosen)
    }
}
