import Admission
import Testing
import WireText

/// The proxies are 10.0.0.0/8 and 2001:db8:1::/48.
struct ForwardedForTests {
    private func client(
        peer: String = "10.0.0.1", xForwardedFor: String? = nil, forwarded: String? = nil
    ) throws -> String {
        let trusted = try #require(AddressRange.list("10.0.0.0/8 2001:db8:1::/48"))
        let headers = ForwardedFor(xForwardedFor: xForwardedFor, forwarded: forwarded)
        return headers.client(of: try #require(IPAddress(text: peer)), trusted: trusted).text
    }

    @Test func `without headers the client is the peer`() throws {
        #expect(try client() == "10.0.0.1")
        #expect(try client(peer: "203.0.113.9") == "203.0.113.9")
    }

    @Test func `headers of an untrusted peer are ignored`() throws {
        #expect(try client(peer: "203.0.113.9", xForwardedFor: "198.51.100.1") == "203.0.113.9")
        #expect(try client(peer: "203.0.113.9", forwarded: "for=198.51.100.1") == "203.0.113.9")
        #expect(try client(peer: "203.0.113.9", xForwardedFor: "10.0.0.9") == "203.0.113.9")
    }

    @Test(arguments: [
        ("203.0.113.9", "203.0.113.9"), ("1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("1.1.1.1,203.0.113.9, 10.0.0.2 ,10.1.2.3", "203.0.113.9"),
        ("2001:db8::9, 2001:db8:1::5", "2001:db8::9"), ("[2001:db8::9]:4711", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("203.0.113.9:4711", "203.0.113.9"), ("::ffff:203.0.113.9", "203.0.113.9"), ("10.0.0.7", "10.0.0.7"),
        ("10.0.0.7, 10.0.0.8", "10.0.0.7"), ("nonsense, 203.0.113.9", "203.0.113.9"),
        ("\"quote, 203.0.113.9", "203.0.113.9"),
        ("\t203.0.113.9 ", "203.0.113.9"),
    ]) func `the client is the right-most hop that isn't a trusted proxy`(list: String, client: String) throws {
        #expect(try self.client(xForwardedFor: list) == client)
    }

    @Test(arguments: [
        "", " ", ",", "nonsense", "203.0.113.9,", "unknown", "_hidden", "203.0.113.9 1.1.1.1", "203.0.113.9:",
        "203.0.113.9:x",
        "203.0.113.9:123456", "[203.0.113.9]", "[2001:db8::9", "[2001:db8::9]x", "[2001:db8::9]4711", "203.0.113.999",
        "for=203.0.113.9",
        "203.0.113.09",
    ]) func `if the deciding hop names no address the peer is used`(list: String) throws {
        #expect(try client(xForwardedFor: list) == "10.0.0.1")
    }

    @Test func `a hop without an address leaves the last known address`() throws {
        #expect(try client(xForwardedFor: "203.0.113.9, unknown, 10.0.0.7") == "10.0.0.7")
    }

    @Test(arguments: [
        ("for=203.0.113.9", "203.0.113.9"), ("For=\"203.0.113.9:4711\";proto=https;by=10.0.0.1", "203.0.113.9"),
        ("for=1.1.1.1, for=\"[2001:db8::9]:4711\"", "2001:db8::9"),
        ("for=203.0.113.9, for=10.0.0.2;by=\"a,b;c\"", "203.0.113.9"),
        ("for=203.0.113.9;by=\"x\\\"y,z\", proto=http;for=10.0.0.2", "203.0.113.9"),
        ("nonsense, for=203.0.113.9", "203.0.113.9"),
        ("for=\"203.0.113.9:_port\"", "203.0.113.9"),
    ]) func `Forwarded is read in the same way, including quotes`(list: String, client: String) throws {
        #expect(try self.client(forwarded: list) == client)
    }

    @Test(arguments: [
        "", "for", "for=", "=203.0.113.9", "for=unknown", "for=_hidden", "proto=https", "for=203.0.113.9;for=1.1.1.1",
        "for=\"203.0.113.9",
        "for=203.0.113.9\"", "203.0.113.9", "for=\"\"", "for=\"203.0.113.9\\\"\"", "for=\"1.1.1.1\"x",
        "for=203.0.113.9;;",
    ]) func `a Forwarded without an address leaves the peer's address`(list: String) throws {
        #expect(try client(forwarded: list) == "10.0.0.1")
    }

    /// Each of these scalars combines with a neighbour into one `Character`.
    private static let joining = ["\u{0600}", "\u{0301}", "\u{200D}", "\u{FE0F}", "\u{1F3FD}", "\u{110BD}", "\u{0D4E}"]

    @Test(arguments: joining) func `a client's text can't merge into the proxy's element`(scalar: String) throws {
        for own in ["evil", "198.51.100.1", "for=198.51.100.1", "for=\"", "", " "] {
            for text in [own + scalar, scalar + own, scalar] {
                #expect(try client(xForwardedFor: text + ", 203.0.113.9") == "203.0.113.9")
                #expect(try client(xForwardedFor: text + ",203.0.113.9") == "203.0.113.9")
                #expect(try client(forwarded: text + ",for=203.0.113.9") == "203.0.113.9")
                #expect(try client(forwarded: text + ", for=\"203.0.113.9:4711\";by=\"a\\\"b\"") == "203.0.113.9")
            }
        }
    }

    @Test(arguments: joining + ["\u{7F}", "\u{0}", "\u{FFFD}", "\r\n"])
    func `an element with anything but ASCII text is malformed`(scalar: String) throws {
        for list in ["203.0.113.9\(scalar)", "\(scalar)203.0.113.9", "198.51.100.1, \(scalar)203.0.113.9"] {
            #expect(try client(xForwardedFor: list) == "10.0.0.1")
            #expect(try client(xForwardedFor: list + ",10.0.0.7") == "10.0.0.7")
        }
        #expect(try client(forwarded: "for=203.0.113.9;by=\"\(scalar)\"") == "10.0.0.1")
        #expect(try client(forwarded: "for=203.0.113.9\(scalar);by=b") == "10.0.0.1")
    }

    @Test(arguments: [
        "\"", "for=\"", "for=\"x", "for=\"10.0.0.9", "by=\"a,b", "for=\"a\\\"", "\\", "by=\\\"", "\"\"\"", "a;\"b",
    ]) func `an open quote of a client doesn't reach the proxy's element`(start: String) throws {
        #expect(try client(forwarded: start + ", for=203.0.113.9") == "203.0.113.9")
        #expect(
            try client(forwarded: start + ", for=\"203.0.113.9:1\", for=10.0.0.7;by=\"x,\\\"y;z\"") == "203.0.113.9")
    }

    @Test(arguments: [
        "by=\"x;for=203.0.113.9", "for=203.0.113.9;by=\"x", "for=203.0.113.9;by=x\"", "\";for=203.0.113.9",
    ])
    func `an element with an open quote has no address`(element: String) throws {
        #expect(try client(forwarded: element) == "10.0.0.1")
    }

    @Test func `two headers together are ignored, even if they agree`() throws {
        #expect(try client(xForwardedFor: "203.0.113.9", forwarded: "for=203.0.113.9") == "10.0.0.1")
    }

    @Test func `at most 32 hops are followed`() throws {
        let hops = [String](repeating: "10.0.0.2", count: ForwardedFor.maximumHops - 1)
        #expect(try client(xForwardedFor: (["203.0.113.9"] + hops).joined(separator: ",")) == "203.0.113.9")
        #expect(try client(xForwardedFor: (["203.0.113.9", "10.0.0.3"] + hops).joined(separator: ",")) == "10.0.0.3")
    }

    @Test func `an element has 256 bytes at most`() throws {
        func element(_ count: Int) -> String {
            let start = "for=203.0.113.9;by="
            return start + String(repeating: "x", count: count - start.utf8.count)
        }
        #expect(try client(forwarded: element(256)) == "203.0.113.9")
        #expect(try client(forwarded: element(257)) == "10.0.0.1")
    }
}
