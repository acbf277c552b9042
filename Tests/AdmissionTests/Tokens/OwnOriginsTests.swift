import DPoP
import Testing
import WireText

@testable import Admission

/// The origins that the server's certificate proves.
struct OwnOriginsTests {
    private let names = ServerNames(
        dnsNames: ["*.play.example", "Mud.example", "other.example", "a*.example", "*", "", "a b", "*.*.example"],
        addresses: [IPAddress(ipv4: (192, 0, 2, 1)), address("2001:db8::1")])

    private func isOwn(_ host: String?, at port: Int = 6200) -> Bool {
        let url = OwnOrigins.certificate(names, at: ListeningPort(port)).url(host: host, path: "/token")
        #expect((url.foreignHost == nil) == (TargetURI(url.text) != nil))
        return url.foreignHost == nil
    }

    @Test(arguments: [
        "mud.example:6200", "MUD.EXAMPLE:6200", "other.example:06200", "192.0.2.1:6200", "[2001:db8::1]:6200",
        "[2001:DB8:0::1]:6200", "a.play.example:6200", "A-b_c.Play.Example:6200",
    ]) func `a host is one of them if the certificate has its name`(host: String) {
        #expect(isOwn(host))
    }

    @Test(arguments: [
        nil, "", ":6200", "evil.example:6200", "mud.example", "mud.example:", "mud.example:443", "mud.example:6201",
        "mud.example:66200", "mud.example:006200", "mud.example:+6200", "mud.example:6200:6200", "mud.example.:6200",
        "xmud.example:6200", "play.example:6200", ".play.example:6200", "a.b.play.example:6200", "*.play.example:6200",
        "abc.example:6200", "a*.example:6200", "192.0.2.2:6200", "192.0.2.01:6200", "2001:db8::1:6200",
        "[2001:db8::2]:6200", "[2001:db8::1:6200", "[2001:db8::1]6200", "[]:6200", "mud.example@evil.example:6200",
        "mud%2Eexample:6200", "mud.example/:6200", "m\u{FF55}d.example:6200", "mud.example\u{0301}:6200",
    ]) func `any other host isn't`(host: String?) {
        #expect(!isOwn(host))
    }

    @Test func `a host has 253 bytes at most`() {
        let longest = String(repeating: "a", count: 253 - ".play.example".utf8.count) + ".play.example"
        #expect(isOwn(longest + ":6200") && !isOwn("a" + longest + ":6200"))
    }

    @Test func `port 443 needs no port`() {
        for host in ["mud.example", "mud.example:", "mud.example:443", "192.0.2.1", "[2001:db8::1]"] {
            #expect(isOwn(host, at: 443) && !isOwn(host))
        }
    }

    @Test func `the port is the one on which the gateway listens in the end`() {
        let port = ListeningPort(0)
        let origins = OwnOrigins.certificate(names, at: port)
        #expect(origins.url(host: "mud.example:6200", path: "/").foreignHost != nil)
        port.set(6200)
        #expect(origins.url(host: "mud.example:6200", path: "/").text == "https://mud.example:6200/")
        #expect(origins.first == "https://mud.example:6200")
    }

    @Test func `the issuer is the first name, without a wildcard and the usual port`() {
        func first(_ names: [String], _ addresses: [IPAddress] = [], at port: Int = 443) -> String? {
            let names = ServerNames(dnsNames: names, addresses: addresses)
            return OwnOrigins.certificate(names, at: ListeningPort(port)).first
        }
        #expect(first(["*.x.example", "B.example", "a.example"]) == "https://b.example")
        #expect(first(["*.x.example"], [address("2001:db8::1")], at: 6200) == "https://[2001:db8::1]:6200")
        #expect(first(["*.x.example"]) == nil && first([]) == nil)
        #expect(OwnOrigins.setting("https://p.example:8443").first == "https://p.example:8443")
        #expect(OwnOrigins.unknown.first == nil && !OwnOrigins.unknown.areKnown)
        #expect(OwnOrigins.unknown.url(host: "mud.example", path: "/").text.isEmpty)
    }

    @Test func `a named issuer stays, whatever the certificate says`() throws {
        var settings = try TokenBench().settings
        settings.origins = .certificate(names, at: ListeningPort(6200))
        #expect(settings.issuer == TokenBench.issuer)
        let unnamed = TokenSettings(
            issuer: nil, audience: nil, keys: settings.keys, replays: settings.replays, devices: nil)
        #expect(unnamed.issuer.isEmpty)
        settings = unnamed
        settings.origins = .certificate(names, at: ListeningPort(6200))
        #expect(settings.issuer == "https://mud.example:6200" && settings.audience == settings.issuer)
    }
}
