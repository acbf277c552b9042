import HTTPWire
import Testing

/// The contents of well-formed headers.
struct RequestHeadTests {
    @Test(
        arguments: [
            ("GET /", .origin, "/", nil), ("GET /?", .origin, "/", ""), ("GET //a/../b", .origin, "//a/../b", nil),
            ("GET /a?b?c/d", .origin, "/a", "b?c/d"), ("OPTIONS *", .asterisk, "*", nil),
            ("OPTIONS /a", .origin, "/a", nil), ("GET http://b.example", .absolute, "/", nil),
            ("GET HTTPS://b.example/a?b", .absolute, "/a", "b"), ("GET http://b.example?q", .absolute, "/", "q"),
            ("OPTIONS http://b.example", .absolute, "*", nil), ("OPTIONS http://b.example?q", .absolute, "/", "q"),
            ("OPTIONS http://b.example/", .absolute, "/", nil), ("CONNECT b.example:443", .authority, "", nil),
        ] as [(String, RequestTargetForm, String, String?)])
    func `a target has one of four forms`(line: String, form: RequestTargetForm, path: String, query: String?) throws {
        let head = try #require(Transcript(request(line + " HTTP/1.1")).only)
        #expect(head.targetForm == form && head.pathText == path && head.queryText == query)
        #expect(head.isPath(path))
    }

    /// Browsers escape only the query percent-encode set of the URL Standard; they send everything else as typed.
    @Test func `a query may have every character that browsers don't escape`() throws {
        let visible = (0x21...0x7E as ClosedRange<UInt8>).filter { !Array("\"#<>".utf8).contains($0) }
        let query = String(decoding: visible, as: UTF8.self)
        for target in ["/?" + query, "http://b.example/?" + query, "http://b.example?" + query] {
            let request = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            for pieces in splits(of: request) {
                #expect(Transcript(pieces).only?.queryText == query)
            }
        }
    }

    @Test func `a malformed escape in a query affects only its own parameter`() throws {
        let head = try #require(Transcript(request("GET /?a=100%&b=2 HTTP/1.1")).only)
        #expect(RequestQuery(head.query)["a"] == .malformed && RequestQuery(head.query)["b"] == .value("2"))
    }

    /// RFC 9112 §3.2.2.
    @Test func `the authority of an absolute target replaces Host`() throws {
        let head = try #require(Transcript(request("GET http://b.example:80/ HTTP/1.1", "X: y")).only)
        #expect(head.authorityText == "b.example:80" && head.values("host") == ["b.example:80"])
        #expect(head.fields.map { text($0.name) } == ["Host", "X"])
        let without = try #require(Transcript("GET http://b.example/ HTTP/1.0\r\n\r\n").only)
        #expect(without.authorityText == "b.example" && without.fields.isEmpty)
        let connect = try #require(Transcript(request("CONNECT b.example:443 HTTP/1.1")).only)
        #expect(connect.authorityText == "b.example:443" && connect.values("host") == ["a.example"])
    }

    @Test func `HTTP 1.0 may have no Host`() throws {
        let head = try #require(Transcript("GET / HTTP/1.0\r\n\r\n").only)
        #expect(head.version == .http10 && head.authority == nil)
    }

    @Test(arguments: [
        "a", "a.example", "a.example:", "a.example:0", "a.example:65535", "a:00080", "127.0.0.1:80", "1.2.3.999", "a_b",
        "%41", "!$&'()*+,;=-._~", "[::]", "[::1]:443", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]",
        "[1:2:3:4:5:6:1.2.3.4]", "[::ffff:192.0.2.1]", "[::255.0.10.99]", "[ABCD:ef01::]", "[1::8]", "[0001::]:",
    ])
    func `Host is a host with an optional port`(host: String) throws {
        #expect(Transcript("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").only?.authorityText == host)
        #expect(Transcript("GET http://\(host)/ HTTP/1.1\r\nHost: a\r\n\r\n").only?.authorityText == host)
    }

    @Test func `fields are found by their whole name in lower case`() throws {
        let head = try #require(
            Transcript(request("GET / HTTP/1.1", "X-Forwarded-For: 1", "X: 2", "x-FORWARDED-for:3")).only)
        let fields = head.fields
        #expect(head.values("x-forwarded-for") == ["1", "3"] && fields.count("x-forwarded-for") == 2)
        #expect(fields.first("x-forwarded-for").map { text($0) } == "1")
        #expect(head.values("x") == ["2"] && fields.first("x-forwarded-fo") == nil && fields.count("") == 0)
        #expect(fields.only("x-forwarded-for") == .several && fields.only("y") == .absent)
        guard case .one(let value) = fields.only("x") else {
            Issue.record("\(fields)")
            return
        }
        #expect(text(value) == "2")
        // Non-letters whose codes differ only in the case bit aren't equal.
        #expect(Transcript(request("GET / HTTP/1.1", "A^: 1")).only?.fields.first("a~") == nil)
    }

    /// libwebsockets' parser let a field hide the next one if its name was a prefix of a known name, or a method.
    @Test func `no field hides the next one`() throws {
        for name in ["X", "X-A", "Re", "Accept-C", "Get", "Post", "Hos", "Content-Lengt", "Content-Length-", "H"] {
            let head = try #require(
                Transcript(request("GET / HTTP/1.1", "\(name): y", "X-Forwarded-For: 192.0.2.1")).only)
            #expect(head.values("x-forwarded-for") == ["192.0.2.1"] && head.fields.count == 3)
        }
    }

    @Test func `white space around a value isn't part of it`() throws {
        let fields = request("GET / HTTP/1.1", "A: \t b \tc\t ", "B:", "C: \t", "D:\u{e4}")
        let head = try #require(Transcript(fields).only)
        #expect(head.fields.dropFirst().map { text($0.value) } == ["b \tc", "", "", "\u{e4}"])
    }

    @Test(
        arguments: [
            ("a", ["a"]), ("a,b", ["a", "b"]), (" a ,\tb c\t, d ", ["a", "b c", "d"]), ("", []), (",", ["", ""]),
            ("a,,b,", ["a", "", "b", ""]), ("\"a,b\",c", ["\"a,b\"", "c"]),
            ("a=\"b\\\",c\",d", ["a=\"b\\\",c\"", "d"]),
            ("\"a,b", ["\"a", "b"]), ("\"a\\\",b", ["\"a\\\"", "b"]), ("\"a\\", ["\"a\\"]), ("\"", ["\""]),
            ("\"a\",\"b,c", ["\"a\"", "\"b", "c"]),
        ] as [(String, [String])])
    func `a list has members, also empty ones, and commas in quoted strings don't separate`(
        value: String, members: [String]
    ) {
        #expect(ListMembers(Array(value.utf8)[...]).map { text($0) } == members)
    }

    @Test func `a value full of quotation marks is read in one pass`() {
        let value =
            [UInt8](repeating: UInt8(ascii: "\\"), count: 1) + Array(String(repeating: "\"\\", count: 100_000).utf8)
        #expect(Array(ListMembers(value[...])).count == 1)
    }

    @Test func `the members of all fields of a name are one list`() throws {
        let head = try #require(
            Transcript(request("GET / HTTP/1.1", "Connection: a, b", "X: c", "connection: Upgrade,,")).only)
        #expect(head.fields.members("connection").map { text($0) } == ["a", "b", "Upgrade", "", ""])
    }

    /// RFC 9112 §9.3.
    @Test(
        arguments: [
            (1, [], true), (1, ["close"], false), (1, ["Close"], false), (1, ["keep-alive"], true),
            (1, ["keep-alive, close"], false), (1, ["Upgrade", "x,close"], false), (1, ["closed, clos"], true),
            (0, [], false), (0, ["keep-alive"], true), (0, ["x", "Keep-Alive"], true),
            (0, ["close, keep-alive"], false),
            (0, ["keep-alive", "close"], false), (0, ["Upgrade"], false),
        ] as [(Int, [String], Bool)])
    func `version and options decide whether a connection is kept`(minor: Int, options: [String], isKept: Bool) throws {
        let fields = options.map { "Connection: \($0)\r\n" }.joined()
        let head = try #require(Transcript("GET / HTTP/1.\(minor)\r\nHost: a\r\n\(fields)\r\n").only)
        #expect(head.keepsAlive == isKept)
    }

    /// RFC 9110 §9.3.6: what follows a refused CONNECT may be a tunnel's data.
    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func `no connection is kept after CONNECT`(field: String) throws {
        let head = try #require(Transcript("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\(field)\r\n").only)
        #expect(!head.keepsAlive)
    }

    /// RFC 9110 §10.1.1.
    @Test(
        arguments: [
            (1, "Content-Length: 1\r\nExpect: 100-continue", true),
            (1, "Content-Length: 1\r\nExpect: 100-CONTINUE, , 100-continue", true),
            (1, "Transfer-Encoding: chunked\r\nExpect: 100-continue", true), (1, "Content-Length: 1", false),
            (1, "Content-Length: 1\r\nExpect:", false), (1, "Content-Length: 0\r\nExpect: 100-continue", false),
            (1, "Expect: 100-continue", false), (0, "Content-Length: 1\r\nExpect: 100-continue", false),
            (0, "Content-Length: 1\r\nExpect: something", false),
        ] as [(Int, String, Bool)])
    func `a client waits for 100 Continue if it says so, has a body and speaks HTTP 1.1`(
        minor: Int, fields: String, waits: Bool
    ) throws {
        let transcript = Transcript("POST / HTTP/1.\(minor)\r\nHost: a\r\n\(fields)\r\n\r\n")
        #expect(try #require(transcript.only).expectsContinue == waits)
    }

    @Test func `a POST, PUT or PATCH without framing lacks a length`() throws {
        for method in ["POST", "PUT", "PATCH"] {
            #expect(try #require(Transcript(request("\(method) / HTTP/1.1")).only).lacksLength)
            for framing in ["Content-Length: 0", "Transfer-Encoding: chunked"] {
                #expect(try !#require(Transcript(request("\(method) / HTTP/1.1", framing)).only).lacksLength)
            }
        }
        for method in ["GET", "HEAD", "OPTIONS", "DELETE", "post"] {
            #expect(try !#require(Transcript(request("\(method) / HTTP/1.1")).only).lacksLength)
        }
    }
}
