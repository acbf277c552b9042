import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

@Suite("Texts of servers")
struct TextTests {
    private func members(_ text: String, maximumBytes: Int = 100_000) throws(JSONMembers.Fault) -> JSONMembers {
        try JSONMembers(Array(text.utf8), maximumBytes: maximumBytes)
    }

    // MARK: JSON

    @Test func `an object's members are read with their types`() throws {
        let members = try members(
            #" { "a":"x\/\u00e9\ud83d\ude00\n", "b":-12 , "c":1.5e3, "d":true,"e":null,"f":{"g":[1,{}, []]},"h":[ "i","j" ] } "#
        )
        #expect(members.string("a") == "x/é😀\n")
        #expect(members.integer("b") == -12)
        #expect(members.integer("c") == nil && members.string("b") == nil)
        #expect(members.boolean("d") == true)
        #expect(members.raw("f").map { String(decoding: $0, as: UTF8.self) } == #"{"g":[1,{}, []]}"#)
        #expect(members.object("f")?.raw("g") != nil)
        #expect(members.strings("h", atMost: 1) == ["i"])
        #expect(members.count == 7 && members["z"] == nil)
    }

    @Test(arguments: [
        "", "{", "}", "{}x", "[]", "null", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":01}"#, #"{"a":+1}"#,
        #"{"a":1.}"#,
        #"{"a":.5}"#, #"{"a":1e}"#, #"{"a":tru}"#, #"{"a":"\x"}"#, #"{"a":"\u12"}"#, #"{"a":"\ud800"}"#,
        #"{"a":"\udc00x"}"#,
        "{\"a\":\"\u{1}\"}", #"{"a":[1,]}"#, #"{"a":[,1]}"#, #"{"a":{"b":1,}}"#, #"{"a":{1:2}}"#, #"{"a":[1 2]}"#,
        #"{"a":[1}"#, #"{'a':1}"#, #"{"a":NaN}"#, #"{a:1}"#,
    ])
    func `malformed JSON is refused`(text: String) {
        #expect(throws: JSONMembers.Fault.malformed) { try members(text) }
    }

    @Test func `text that isn't UTF-8 is refused`() {
        for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]] {
            let text = Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)
            #expect(throws: JSONMembers.Fault.malformed) { try JSONMembers(text, maximumBytes: 100) }
        }
    }

    @Test func `bounds hold at the limit and one above it`() throws {
        func nested(_ depth: Int) -> String {
            #"{"a":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        func wide(_ count: Int) -> String { "{" + (0..<count).map { #""m\#($0)":0"# }.joined(separator: ",") + "}" }
        _ = try members(nested(JSONMembers.maximumDepth))
        #expect(throws: JSONMembers.Fault.tooDeep) { try members(nested(JSONMembers.maximumDepth + 1)) }
        #expect(throws: JSONMembers.Fault.tooDeep) { try members(nested(40_000)) }
        _ = try members(wide(JSONMembers.maximumMembers))
        #expect(throws: JSONMembers.Fault.tooManyMembers) { try members(wide(JSONMembers.maximumMembers + 1)) }
        _ = try members("{}", maximumBytes: 2)
        #expect(throws: JSONMembers.Fault.tooLong) { try members("{} ", maximumBytes: 2) }
    }

    @Test func `every beginning of a text, and every text with one byte changed, is read or refused`() {
        let text = Array(
            #"{"type":"gmcp","seq":41,"package":"A.B","data":{"x":[1,-2.5e1,"\u00e9",null,true]},"r":"a\"b"}"#.utf8)
        for end in text.indices { _ = try? JSONMembers(Array(text[..<end]), maximumBytes: 1_000) }
        var random = SeededGenerator(seed: 32)
        for index in text.indices {
            for _ in 0..<32 {
                var changed = text
                changed[index] = UInt8.random(in: 0...255, using: &random)
                guard let members = try? JSONMembers(changed, maximumBytes: 1_000) else { continue }
                // What is read agrees with another reader.
                let other = (try? JSONSerialization.jsonObject(with: Data(changed))) as? [String: Any]
                #expect(other != nil, "\(String(decoding: changed, as: UTF8.self))")
                _ = members.string("type")
            }
        }
    }

    @Test func `what is written is read again`() throws {
        let text = "quote \" backslash \\ newline \n bell \u{7} é 😀 \u{7F}"
        let bytes = JSONText.object {
            $0.add("text", text)
            $0.add("number", -7)
            $0.add("inner") { $0.add("a", json: Array("[1]".utf8)) }
        }
        let members = try JSONMembers(bytes, maximumBytes: 1_000)
        #expect(members.string("text") == text && members.integer("number") == -7)
        #expect(members.object("inner")?.raw("a").map(Array.init) == Array("[1]".utf8))
    }

    @Test func `the objects of a list are read up to a limit`() throws {
        let read = try members(#"{"list":[ {"a":1} , {"a":[{}]} ],"none":[],"mixed":[{},1],"text":"[]"}"#)
        #expect(read.objects("list", atMost: 2)?.map { $0.integer("a") } == [1, nil])
        #expect(read.objects("list", atMost: 1) == nil && read.objects("none", atMost: 0)?.isEmpty == true)
        for name in [StaticString("mixed"), "text", "absent"] { #expect(read.objects(name, atMost: 9) == nil) }
        let ids = try members(#"{"id":"AQID","empty":"","number":1,"wrong":"A A="}"#)
        #expect(ids.bytes("id", 1...3) == [1, 2, 3] && ids.bytes("id", 1...2) == nil && ids.bytes("id", 4...9) == nil)
        for name in [StaticString("empty"), "number", "wrong", "absent"] { #expect(ids.bytes(name, 1...9) == nil) }
    }

    // MARK: Bytes

    @Test func `base64 and hexadecimal agree with Foundation`() {
        var random = SeededGenerator(seed: 1)
        for count in 0..<70 {
            let bytes = random.bytes(count)
            let padded = Data(bytes).base64EncodedString()
            #expect(BinaryText.base64(bytes) == padded)
            #expect(BinaryText.bytes(base64: padded.utf8) == bytes)
            let url = BinaryText.base64URL(bytes)
            #expect(!url.contains { "+/=".contains($0) } && BinaryText.bytes(base64: url.utf8) == bytes)
            #expect(BinaryText.bytes(hexadecimal: BinaryText.hexadecimal(bytes)) == bytes)
            #expect(BinaryText.bytes(hexadecimal: BinaryText.hexadecimal(bytes).uppercased()) == bytes)
        }
        for wrong in ["A", "AAAAA", "AA=", "A===", "AA==A", "A A=", "AAA*", "é"] {
            #expect(BinaryText.bytes(base64: wrong.utf8) == nil, "\(wrong)")
        }
        for wrong in ["0", "0g", " 0", "é"] { #expect(BinaryText.bytes(hexadecimal: wrong) == nil, "\(wrong)") }
    }

    // MARK: Times

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Fri, 15 Jan 2027 08:00:00 GMT", 1_800_000_000),
        ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
    ])
    func `dates of HTTP`(text: String, seconds: Int) { #expect(TimeText.seconds(httpDate: text) == seconds) }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2027-01-15T08:00:00Z", 1_800_000_000),
        ("2027-01-15t09:00:00+01:00", 1_800_000_000),
        ("2027-01-15T08:00:00.123456Z", 1_800_000_000), ("2027-01-15T06:30:00-01:30", 1_800_000_000),
    ])
    func `dates of RFC 3339`(text: String, seconds: Int) { #expect(TimeText.seconds(rfc3339: text) == seconds) }

    @Test(arguments: [
        "", "x", "Thu, 01 Jan 1970 00:00:00 UTC", "Thu, 01 Foo 1970 00:00:00 GMT", "Thu, 0a Jan 1970 00:00:00 GMT",
        "Thu, 01 Jan 1970 24:00:00 GMT", "Thu, 01 Jan 99999999999999 00:00:00 GMT", "2027-01-15 08:00:00Z",
        "2027-13-15T08:00:00Z", "2027-01-15T08:00:00", "2027-01-15T08:00:00+1:00", "é027-01-15T08:00:00Z",
    ])
    func `other texts are no dates`(text: String) {
        #expect(TimeText.seconds(httpDate: text) == nil)
        #expect(TimeText.seconds(rfc3339: text) == nil)
    }

    // MARK: URLs

    @Test(arguments: [
        ("https://mud.example.com:6200", "https://mud.example.com:6200", ""),
        ("HTTPS://Mud.Example.COM:443/", "https://mud.example.com", ""),
        ("https://a.b/tenant/", "https://a.b", "/tenant"),
        ("https://[2001:DB8::1]:6200", "https://[2001:db8::1]:6200", ""),
        ("http://localhost:8080", "http://localhost:8080", ""), ("http://127.0.0.1", "http://127.0.0.1", ""),
        ("http://[::1]:80", "http://[::1]", ""),
    ])
    func `base URLs`(text: String, origin: String, path: String) throws {
        let address = try GateAddress(text)
        #expect(address.origin == origin && address.basePath == path)
    }

    @Test(arguments: [
        "", "mud.example.com", "https://", "https:///x", "ftp://a.b", "http://mud.example.com",
        "http://localhost.evil.example",
        "https://user@a.b", "https://user:pass@a.b", "https://a.b?x=1", "https://a.b#x", "https://a.b:0",
        "https://a.b:65536",
        "https://a.b:x", "https://a b", "https://a.b/\u{0}", "https://é.example", "https://a.b\r\nX: y", "https://[::1",
        "https://a.b/..", "https://a.b/%2e%2E/x", "https://a.b:",
    ])
    func `other texts are no base URLs`(text: String) {
        #expect(throws: ConfigurationProblem.self) { try GateAddress(text) }
    }

    @Test(arguments: [
        ("api/hello", "/api/hello"), ("/api/hello", "/api/hello"), ("//evil.example/x", "/evil.example/x"),
        ("a b", "/a%20b"), ("a?b=c&d=?", "/a?b=c&d=?"), ("é", "/%C3%A9"), ("a%2Fb", "/a%2Fb"), ("", "/"),
        ("https://evil.example/x", "/https://evil.example/x"), ("a\\b", "/a%5Cb"), ("x/.../y", "/x/.../y"),
    ])
    func `paths stay below the base URL`(path: String, url: String) throws {
        #expect(try GateAddress("https://gate.example/t").url(path) == "https://gate.example/t" + url)
    }

    @Test(arguments: [
        "..", "a/../b", "./a", "a/%2e./b", "a#b", "a\nb", "a\u{7F}", String(repeating: "a", count: 2_049),
    ])
    func `other paths are refused`(path: String) throws {
        let address = try GateAddress("https://gate.example")
        #expect(throws: ConfigurationProblem.invalidPath) { try address.url(path) }
    }

    @Test func `a URL is taken apart for a transport`() throws {
        let target = try #require(RequestTarget("wss://[::1]:6200/mud/x?a=b"))
        #expect(target.isSecure && target.host == "::1" && target.port == 6_200 && target.isAddress)
        #expect(target.authority == "[::1]:6200" && target.target == "/mud/x?a=b")
        let plain = try #require(RequestTarget("http://localhost"))
        #expect(!plain.isSecure && plain.port == 80 && plain.target == "/" && !plain.isAddress)
        for (url, path) in [
            ("https://a.b:1?x=/y", "/?x=/y"), ("https://a.b:1#@c/d", "/"), ("https://a.b:1/x?y#z", "/x?y"),
        ] {
            let target = try #require(RequestTarget(url))
            #expect(target.host == "a.b" && target.port == 1 && target.target == path, "\(url)")
            #expect(target.authority == "a.b:1" && url.origin == "https://a.b:1")
        }
        for wrong in ["", "x", "ftp://a", "https://", "https://a:x/", "https://?a", "https://#a"] {
            #expect(RequestTarget(wrong) == nil, "\(wrong)")
        }
        #expect("wss://Gate.example:6200/x?y".origin == "https://gate.example:6200" && "ws://a".origin == "http://a")
    }
}
