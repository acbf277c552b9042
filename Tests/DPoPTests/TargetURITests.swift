import Testing

@testable import DPoP

@Suite("The target URI")
struct TargetURITests {
    @Test(arguments: [
        ("https://a/b", "https://a/b"), ("HTTPS://A.Example/B", "https://a.example/B"),
        ("wss://a/b", "https://a/b"), ("WS://a:80/b", "http://a/b"), ("https://a:443/b", "https://a/b"),
        ("https://a:00443/b", "https://a/b"), ("https://a:/b", "https://a/b"), ("https://a:80/", "https://a:80/"),
        ("http://a:443/", "http://a:443/"), ("https://a", "https://a/"), ("https://a?b", "https://a/"),
        ("https://a#b", "https://a/"), ("https://a/b?c#d", "https://a/b"), ("https://a/b#c?d", "https://a/b"),
        ("https://a/%7Eb/%c3%a9/%2f", "https://a/~b/%C3%A9/%2F"), ("https://a/%3Fb", "https://a/%3Fb"),
        ("https://a/b/./c/../d", "https://a/b/d"), ("https://a/b/..", "https://a/"),
        ("https://a/b/.", "https://a/b/"),
        ("https://a/../../b", "https://a/b"), ("https://a/%2e%2E/b", "https://a/b"),
        ("https://a//b/", "https://a//b/"),
        ("https://a/b//../c", "https://a/b/c"), ("https://a/b/c/..", "https://a/b/"),
        ("https://a/...", "https://a/..."),
        ("https://[::1]:443/b", "https://[::1]/b"), ("https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443/"),
        ("https://a/b;c=d,e:@!$&'()*+[x]|", "https://a/b;c=d,e:@!$&'()*+[x]|"),
    ])
    func `is normalised as RFC 3986 says`(text: String, expected: String) throws {
        let uri = try #require(TargetURI(text))
        #expect(uri.text == expected)
        #expect(TargetURI(expected) == uri)
    }

    @Test(arguments: [
        "", "/b", "a", "a/b", "//a/b", "https:", "https:/a", "https:///b", "https://:443/", "ftp://a/", "file:///a",
        "javascript:alert(1)", "https://u@a/", "https://u:p@a/", "https://a:b/", "https://a:123456/",
        "https://a:-1/",
        "https://a b/", "https://a/b c", "https://a/\\b", "https://a\\b/", "https://a/é", "https://é/",
        "https://a/%",
        "https://a/%4", "https://a/%zz", "https://%61/", "https://[/", "https://[]/", "https://[::1/",
        "https://[g]/",
        "https://[::1]x/", "https://a/\u{0}", "https://a/\"", "https://a/<b>", " https://a/", "https ://a/",
    ])
    func `is refused without scheme and host, or with parts that no target has`(text: String) {
        #expect(TargetURI(text) == nil)
    }

    @Test func `is different for another scheme, host, port or path`() {
        let uris = [
            "https://a/b", "http://a/b", "https://c/b", "https://a:444/b", "https://a/B", "https://a/b/",
            "https://a/%2Fb",
            "https://a/b%2F", "https://a.//b", "https://a./b",
        ].compactMap(TargetURI.init)
        #expect(Set(uris).count == 10)
    }

    @Test func `is at most 8192 bytes long`() {
        let text = "https://a/" + String(repeating: "b", count: TargetURI.maximumBytes - 10)
        #expect(TargetURI(text) != nil && TargetURI(text + "b") == nil)
    }
}

@Suite("The Authorization field")
struct PresentedTokenTests {
    private func refusal(_ fields: String...) -> AuthorizationRefusal? {
        do throws(AuthorizationRefusal) {
            _ = try PresentedToken.read(authorization: fields)
            return nil
        } catch { return error }
    }

    @Test func `presents a token with either scheme, in any case`() throws {
        for (field, scheme) in [("DPoP", PresentedToken.Scheme.dpop), ("dpop", .dpop), ("BEARER", .bearer)] {
            let token = try #require(try PresentedToken.read(authorization: ["\(field) \(TestProof.token)"]))
            #expect(token.scheme == scheme && token.text == TestProof.token)
            #expect("\(token)" == "(access token)" && !String(reflecting: [token]).contains(TestProof.token))
        }
        #expect(try PresentedToken.read(authorization: ["Bearer   a"])?.text == "a")
        #expect(try PresentedToken.read(authorization: []) == nil)
    }

    @Test func `is one field with one token of the characters that tokens have`() {
        #expect(refusal("Bearer a", "DPoP a") == .severalFields)
        #expect(refusal("Bearer a", "Bearer a") == .severalFields)
        for field in ["", "Basic a", "a", "DPoPa"] { #expect(refusal(field) == .otherScheme, "\(field)") }
        #expect(AuthorizationRefusal.otherScheme.code == .invalidToken)
        for field in [
            "DPoP", "DPoP ", "DPoP a b", "DPoP a,b", "DPoP =", "DPoP a=b", "DPoP a ", "DPoP \"a\"", "Bearer é",
            "Bearer a, DPoP a", "Bearer a\t",
        ] {
            #expect(refusal(field) == .malformedToken, "\(field)")
        }
        let longest = String(repeating: "a", count: JOSELimits.maximumBytes)
        #expect(refusal("DPoP \(longest)") == nil && refusal("DPoP \(longest)a") == .malformedToken)
    }
}
