import SettingsTestKit
import Testing

@testable import Settings

/// The domain of passkeys, and what needs it.
@Suite struct PasskeySettingsTests {
    private let bench: ConfigurationBench

    init() throws { bench = try ConfigurationBench() }

    /// `localhost` is for development: browsers take it as secure.
    @Test(arguments: [
        ("mud.example.org", "https://mud.example.org"), ("example.org", "https://play.example.org"),
        ("localhost", "https://localhost:6200"),
    ])
    func `a domain is taken with the pages of the public origin and of apps`(domain: String, origin: String) throws {
        let settings = bench.least(["PASSKEY_RP_ID": domain, "PUBLIC_ORIGIN": origin])
        let passkeys = try #require(try bench.load(settings).configuration.passkeys)
        #expect(passkeys.relyingPartyID == domain)
        #expect(passkeys.pages == [origin])
        #expect(Set(passkeys.origins) == [origin, "https://" + domain])
        #expect(try bench.warnings(settings).filter { $0.hasPrefix("PASSKEY_") } == [])
    }

    @Test(arguments: [
        "127.0.0.1", "192.0.2.7", "::1", "[::1]", "Mud.example.org", "https://mud.example.org", "mud.example.org:443",
        "mud_example.org",
    ])
    func `an address, and what isn't a domain as browsers compare it, is refused`(text: String) {
        #expect(bench.problems(bench.least(["PASSKEY_RP_ID": text])) == ["PASSKEY_RP_ID isn't a domain"])
    }

    @Test func `a domain needs the public origin`() {
        let settings = bench.least(["PASSKEY_RP_ID": "mud.example.org", "PUBLIC_ORIGIN": nil])
        #expect(bench.problems(settings) == ["PASSKEY_RP_ID is set without PUBLIC_ORIGIN"])
    }

    @Test(arguments: [
        ("PASSKEY_ORIGINS", "https://play.example.org"),
        ("PASSKEY_ANDROID_APPS", "org.example.mud:" + String(repeating: "ab", count: 32)), ("ACCOUNT_SIGN_UP", "open"),
        ("SIGN_UPS_PER_HOUR", "6"), ("MAX_ACCOUNTS", "10"),
    ])
    func `a setting of accounts needs the domain`(name: String, value: String) {
        #expect(bench.problems(bench.least([name: value])) == ["\(name) is set without PASSKEY_RP_ID"])
    }

    @Test(arguments: [
        ("http://mud.example.org", "PUBLIC_ORIGIN has no TLS, without which no passkey works"),
        ("https://192.0.2.7", "PUBLIC_ORIGIN is an IP address, where no passkey works"),
        ("https://[2001:db8::1]:6200", "PUBLIC_ORIGIN is an IP address, where no passkey works"),
    ])
    func `a public origin where no passkey works is refused`(origin: String, problem: String) {
        let settings = bench.least(["PASSKEY_RP_ID": "mud.example.org", "PUBLIC_ORIGIN": origin])
        #expect(bench.problems(settings) == [problem])
    }

    @Test func `the public origin has no TLS on this machine alone`() {
        let settings = bench.least(["PASSKEY_RP_ID": "localhost", "PUBLIC_ORIGIN": "http://localhost:8080"])
        #expect(bench.problems(settings) == [])
    }

    @Test func `pages that are named are all that is accepted`() throws {
        let settings = bench.least([
            "PASSKEY_RP_ID": "mud.example.org", "PUBLIC_ORIGIN": "https://mud.example.org",
            "PASSKEY_ORIGINS": "https://play.mud.example.org",
        ])
        let passkeys = try #require(try bench.load(settings).configuration.passkeys)
        #expect(passkeys.pages == ["https://play.mud.example.org"] && passkeys.origins == passkeys.pages)
    }

    @Test(arguments: ["https://192.0.2.7", "https://mud.example.org,https://[2001:db8::1]:6200"])
    func `a page at an address is refused`(origins: String) {
        let settings = bench.least([
            "PASSKEY_RP_ID": "mud.example.org", "PUBLIC_ORIGIN": "https://mud.example.org", "PASSKEY_ORIGINS": origins,
        ])
        #expect(
            bench.problems(settings) == ["PASSKEY_ORIGINS holds a page at an IP address, where no passkey works"])
    }

    @Test func `players have no shared secret`() {
        let settings = bench.least([
            "PASSKEY_RP_ID": "mud.example.org", "PUBLIC_ORIGIN": "https://mud.example.org",
            "AUTH_MODE": "shared-secret",
        ])
        #expect(bench.problems(settings).contains("PASSKEY_RP_ID is set while AUTH_MODE is shared-secret"))
    }

    @Test func `accounts that anyone may make are warned of`() throws {
        let settings = bench.least([
            "PASSKEY_RP_ID": "mud.example.org", "ACCOUNT_SIGN_UP": "open", "PUBLIC_ORIGIN": "https://mud.example.org",
        ])
        let warnings = try bench.warnings(settings)
        #expect(warnings.contains { $0.hasPrefix("ACCOUNT_SIGN_UP: is open: anyone may make an account.") })
        #expect(warnings.contains { $0.contains("has no route with admit=passkey") })
    }
}
