import Admission
import Testing

struct OriginPolicyTests {
    private func refuses(
        _ origin: String?, host: String? = "gate.example:6200", isTLS: Bool = true, allowsMissing: Bool = true
    ) throws -> Bool {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        bench.settings.allowedOrigins = [
            try #require(WebOrigin("https://Play.Example")), try #require(WebOrigin("https://kiosk.example")),
        ]
        bench.settings.allowsMissingOrigin = allowsMissing
        let request = bench.request().with {
            $0.origin = origin
            $0.host = host
            $0.isTLS = isTLS
        }
        guard let refusal = bench.gate.evaluate(request).refusal else { return false }
        #expect(refusal.status == 403)
        #expect(refusal.code.rawValue == "origin_refused")
        return true
    }

    @Test func `a request without Origin passes`() throws {
        #expect(try !refuses(nil))
        #expect(try !refuses(nil, host: nil))
    }

    @Test func `the gateway's own origin passes`() throws {
        #expect(try !refuses("https://gate.example:6200"))
        #expect(try !refuses("https://GATE.example:6200"))
        #expect(try !refuses("https://gate.example", host: "gate.example:443"))
        #expect(try !refuses("https://gate.example:443", host: "gate.example"))
        #expect(try !refuses("https://[2001:db8::1]:6200", host: "[2001:db8::1]:6200"))
    }

    @Test func `the same host by another scheme or port is another origin`() throws {
        #expect(try refuses("http://gate.example:6200"))
        #expect(try refuses("https://gate.example"))
        #expect(try refuses("https://gate.example:6201"))
        #expect(try refuses("https://gate.example:6200", host: nil))
    }

    @Test func `behind a proxy that terminates TLS both schemes are accepted`() throws {
        #expect(try !refuses("https://gate.example", host: "gate.example", isTLS: false))
        #expect(try !refuses("http://gate.example", host: "gate.example", isTLS: false))
        #expect(try refuses("https://evil.example", host: "gate.example", isTLS: false))
    }

    @Test func `a request without Origin is refused if one is required, and others aren't affected`() throws {
        #expect(try refuses(nil, allowsMissing: false))
        #expect(try refuses(nil, host: nil, allowsMissing: false))
        #expect(try !refuses("https://play.example", allowsMissing: false))
        #expect(try refuses("https://evil.example", allowsMissing: false))
    }

    @Test func `an allowed origin passes in any spelling`() throws {
        for origin in ["https://play.example", "HTTPS://PLAY.EXAMPLE:443"] { #expect(try !refuses(origin)) }
    }

    @Test(arguments: [
        "", "null", "https://evil.example", "https://play.example.evil.example", "https://evil-play.example",
        "http://play.example", "https://play.example:444", "https://play.example/", "https://play.example/path",
        "https://user@play.example", "https://play.example@evil.example", "https:play.example", "//play.example",
        "play.example", "https://", "https://play.example:", "https://play.example:0443x", "https://play.example:65536",
        "https://play.example:000443", "https://play.example https://evil.example", "https://play.example\u{0}", "*",
        "https://[2001:db8::1", "https://[]", "https://[play.example]", "https://plày.example", "1https://play.example",
        "https://play.example?", "https://play.example#", "https://play.example.", "https://\u{212A}iosk.example",
    ])
    func `every other origin is refused`(origin: String) throws {
        #expect(try refuses(origin))
    }

    @Test func `an origin has a maximum length`() {
        let name = String(repeating: "a", count: 300 - "https://".utf8.count)
        #expect(WebOrigin("https://" + name) != nil)
        #expect(WebOrigin("https://a" + name) == nil)
    }

    @Test func `an app's own scheme can be allowed`() {
        #expect(WebOrigin("capacitor://localhost")?.text == "capacitor://localhost")
        #expect(WebOrigin("http://localhost:80")?.text == "http://localhost")
        #expect(WebOrigin("http://localhost:443")?.text == "http://localhost:443")
    }
}
