import Crypto
import Foundation
import Reactors
import Relay
import Testing

/// The page as served: its policy allows exactly its own parts.
@Suite("The web client's page")
struct WebClientPageTests {
    private let page = String(decoding: WebClientPage.answer().body, as: UTF8.self)
    private let policy = Dictionary(
        uniqueKeysWithValues: WebClientPage.policy.contentSecurityPolicy.components(separatedBy: "; ").map {
            let words = $0.split(separator: " ", maxSplits: 1).map(String.init)
            return (words[0], words[1])
        })

    /// The contents of all elements of a name.
    private func elements(_ name: String) throws -> [String] {
        try page.matches(of: Regex<(Substring, Substring)>("(?s)<\(name)[^>]*>(.*?)</\(name)>")).map { String($0.1) }
    }

    @Test(arguments: ["script", "style"])
    func `the policy has the hashes of the one script and the one style sheet`(name: String) throws {
        let contents = try elements(name)
        #expect(contents.count == 1)
        let hash = Data(SHA256.hash(data: Data(contents.first.map { $0.utf8.map(\.self) } ?? []))).base64EncodedString()
        #expect(policy["\(name)-src"] == "'sha256-\(hash)'")
    }

    @Test func `the policy allows nothing else`() {
        #expect(policy["default-src"] == "'none'")
        #expect(policy["connect-src"] == "'self'")
        for name in ["base-uri", "form-action", "frame-ancestors", "trusted-types"] {
            #expect(policy[name] == "'none'")
        }
        #expect(policy["require-trusted-types-for"] == "'script'")
        #expect(!WebClientPage.policy.contentSecurityPolicy.contains("unsafe"))
    }

    @Test func `the page loads nothing and has no inline handler or style`() throws {
        let markup = page.replacing(try Regex("(?s)<(script|style)[^>]*>.*?</(script|style)>"), with: "")
        for forbidden in [" src=", " href=", " style=", "javascript:", "<iframe", "<object", "<embed", "<link"] {
            #expect(!markup.contains(forbidden), "\(forbidden)")
        }
        #expect(markup.firstMatch(of: /\son[a-z]+\s*=/) == nil)
        #expect(!page.contains("http://") && !page.contains("https://"))
    }

    /// The browser would block each of them, so the page must not contain any.
    @Test func `the script never turns a string into markup or code`() throws {
        let script = try elements("script").joined()
        let sinks = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc",
        ]
        for sink in sinks {
            #expect(!script.contains(sink), "\(sink)")
        }
    }

    @Test func `the page stays small enough to read`() {
        #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count < 920)
        #expect(WebClientPage.answer().body.count < 40_960)
    }
}
