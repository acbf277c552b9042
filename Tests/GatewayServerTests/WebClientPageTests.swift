import Accounts
import Crypto
import Foundation
import Reactors
import Relay
import Testing

/// The page as served: its policy allows exactly its own parts.
@Suite("The web client's page")
struct WebClientPageTests {
    /// Without accounts, and with them.
    private static let kinds = [false, true]

    private func answer(_ hasPasskeys: Bool) -> HTTPAnswer {
        WebClientPage.answer(
            passkeys: hasPasskeys ? .init(origin: "wss://play.example", signUp: SignUpRule.proven) : nil)
    }

    private func page(_ hasPasskeys: Bool) -> String { String(decoding: answer(hasPasskeys).body, as: UTF8.self) }

    private func policy(_ hasPasskeys: Bool) -> [String: String] {
        let policy = hasPasskeys ? WebClientPage.policyWithPasskeys : WebClientPage.policy
        return Dictionary(
            uniqueKeysWithValues: policy.contentSecurityPolicy.components(separatedBy: "; ").map {
                let words = $0.split(separator: " ", maxSplits: 1).map(String.init)
                return (words[0], words[1])
            })
    }

    /// The contents of all elements of a name.
    private func elements(_ name: String, _ hasPasskeys: Bool) throws -> [String] {
        let elements = try Regex<(Substring, Substring)>("(?s)<\(name)[^>]*>(.*?)</\(name)>")
        return page(hasPasskeys).matches(of: elements).map { String($0.1) }
    }

    @Test(arguments: ["script", "style"], kinds)
    func `the policy has the hashes of the scripts and the one style sheet`(name: String, hasPasskeys: Bool) throws {
        let contents = try elements(name, hasPasskeys)
        #expect(contents.count == (name == "script" && hasPasskeys ? 2 : 1))
        // The page has the part for passkeys before its own script.
        let hashes = contents.reversed().map { Data(SHA256.hash(data: Data($0.utf8))).base64EncodedString() }
        #expect(policy(hasPasskeys)["\(name)-src"] == hashes.map { "'sha256-\($0)'" }.joined(separator: " "))
    }

    @Test(arguments: kinds)
    func `the policy allows nothing else`(hasPasskeys: Bool) {
        let policy = policy(hasPasskeys)
        #expect(policy["default-src"] == "'none'")
        #expect(policy["connect-src"] == "'self'")
        for name in ["base-uri", "form-action", "frame-ancestors", "trusted-types"] {
            #expect(policy[name] == "'none'")
        }
        #expect(policy["require-trusted-types-for"] == "'script'")
        #expect(policy.count == 9 && !policy.values.contains { $0.contains("unsafe") })
        let header = answer(hasPasskeys).headers.first { $0.0 == "Content-Security-Policy" }?.1
        #expect(
            header == (hasPasskeys ? WebClientPage.policyWithPasskeys : WebClientPage.policy).contentSecurityPolicy)
    }

    @Test(arguments: kinds)
    func `the page loads nothing and has no inline handler or style`(hasPasskeys: Bool) throws {
        let page = page(hasPasskeys)
        let markup = page.replacing(try Regex("(?s)<(script|style)[^>]*>.*?</(script|style)>"), with: "")
        for forbidden in [" src=", " href=", " style=", "javascript:", "<iframe", "<object", "<embed", "<link"] {
            #expect(!markup.contains(forbidden), "\(forbidden)")
        }
        #expect(markup.firstMatch(of: /\son[a-z]+\s*=/) == nil)
        #expect(!page.contains("http://") && !page.contains("https://") && !page.contains("{{"))
    }

    /// The browser would block each of them, so the page must not contain any.
    @Test(arguments: kinds)
    func `the scripts never turn a string into markup or code`(hasPasskeys: Bool) throws {
        let scripts = try elements("script", hasPasskeys).joined()
        let sinks = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc",
        ]
        for sink in sinks {
            #expect(!scripts.contains(sink), "\(sink)")
        }
    }

    @Test func `only with accounts the page offers passkeys, and knows how they begin`() {
        #expect(!page(false).contains("id=\"passkeys\""))
        for text in [
            "data-origin=\"wss://play.example\" data-sign-up=\"proven\"", ">Sign in with a passkey</button>",
            ">Make a passkey</button>", ">Sign out</button>", ">Sign out everywhere</button>",
            "autocomplete=\"username webauthn\"",
        ] {
            #expect(page(true).contains(text), "\(text)")
        }
        let hostile = WebClientPage.answer(passkeys: .init(origin: "\"><script>{{title}}", signUp: .off)).body
        let text = "data-origin=\"&quot;&gt;&lt;script&gt;{{title}}\""
        #expect(String(decoding: hostile, as: UTF8.self).contains(text))
    }

    @Test func `the page stays small enough to read`() {
        #expect(page(false).split(separator: "\n", omittingEmptySubsequences: false).count < 920)
        #expect(answer(false).body.count < 40_960)
        #expect(WebClientPage.passkeySource.split(separator: UInt8(ascii: "\n")).count < 420)
        #expect(WebClientPage.passkeySource.count < 21_504)
    }
}
