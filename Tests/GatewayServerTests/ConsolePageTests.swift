import Crypto
import Foundation
import Relay
import Testing

/// The console as served: its policy allows exactly its own parts.
@Suite("The console's page")
struct ConsolePageTests {
    private let page = String(decoding: ConsolePage.source, as: UTF8.self)
    private let policy = ConsolePage.policy.contentSecurityPolicy.components(separatedBy: "; ")

    /// The contents of all elements of a name.
    private func elements(_ name: String) throws -> [String] {
        try page.matches(of: Regex<(Substring, Substring)>("(?s)<\(name)[^>]*>(.*?)</\(name)>")).map { String($0.1) }
    }

    @Test(arguments: ["script", "style"])
    func `its policy names the hashes of its one script and its one style sheet`(name: String) throws {
        let contents = try elements(name)
        #expect(contents.count == 1)
        let hash = Data(SHA256.hash(data: Data((contents.first ?? "").utf8))).base64EncodedString()
        #expect(policy.contains("\(name)-src 'sha256-\(hash)'"), "\(hash)")
    }

    @Test func `its policy allows nothing that it doesn't name`() {
        for directive in [
            "default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'", "trusted-types 'none'", "require-trusted-types-for 'script'",
        ] {
            #expect(policy.contains(directive))
        }
        #expect(policy.count == 9 && !ConsolePage.policy.contentSecurityPolicy.contains("unsafe"))
    }

    @Test func `it loads nothing, and has no handler or style in its markup`() throws {
        let markup = page.replacing(try Regex("(?s)<(script|style)[^>]*>.*?</(script|style)>"), with: "")
        for forbidden in [" src=", " href=\"h", " style=", "javascript:", "<iframe", "<object", "<embed", "<link"] {
            #expect(!markup.contains(forbidden), "\(forbidden)")
        }
        #expect(markup.firstMatch(of: /\son[a-z]+\s*=/) == nil)
        #expect(!page.contains("http://") && !page.contains("https://"))
        for sink in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
            #expect(!page.contains(sink), "\(sink)")
        }
    }

    @Test func `it has one place for the token, outside the script`() throws {
        #expect(page.components(separatedBy: "{{token}}").count == 2)
        #expect(try !elements("script").joined().contains("{{"))
    }
}
