import HTTPWire
import Reactors
import Testing

@testable import Relay

/// Who may use the console, by the header of a request.
struct ConsoleGuardTests {
    private let random = [UInt8](repeating: 7, count: 32)

    private func head(_ fields: String...) throws -> RequestHead {
        let text = "POST /console/api/devices/revoke HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
        var parser = RequestParser(limits: RequestLimits())
        let bytes = Array(text.utf8)
        guard case .head(let head) = parser.parse(bytes.span).event else { throw NoHead() }
        return head
    }

    private struct NoHead: Error {}

    private var loopback: ConsoleGuard { ConsoleGuard(.loopback(host: "127.0.0.1", port: 9090), random: random) }

    @Test(arguments: ["localhost", "LOCALHOST:9999", "127.0.0.1:9090", "127.0.0.2", "[::1]:9090"])
    func `names of this machine are the listener's own`(host: String) throws {
        for address in [InternalAddress.loopback(host: "127.0.0.1", port: 9090), .unix(path: "/run/admin.sock")] {
            #expect(try ConsoleGuard(address, random: random).check(head("Host: \(host)")) == nil)
        }
    }

    @Test(arguments: ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:9090", "10.0.0.1", "[::2]"])
    func `other names are refused, since a stranger can rebind them`(host: String) throws {
        #expect(try loopback.check(head("Host: \(host)")) == .foreignHost)
    }

    @Test func `over TLS any name is the listener's own, and other sites are refused as before`() throws {
        let host = "Host: mud.example.com:9464"
        #expect(try loopback.check(head(host), isTLS: true) == nil)
        #expect(try loopback.check(head(host, "Origin: https://evil.example"), isTLS: true) == .foreignOrigin)
        #expect(try loopback.checkAction(head(host, "Origin: https://mud.example.com:9464"), isTLS: true) == .noToken)
    }

    @Test func `a request that another site has caused is refused`() throws {
        let host = "Host: localhost:9090"
        for field in ["Origin: null", "Origin: http://evil.example", "Origin: http://localhost:9091"] {
            #expect(try loopback.check(head(host, field)) == .foreignOrigin)
        }
        for site in ["cross-site", "same-site", "x"] {
            #expect(try loopback.check(head(host, "Sec-Fetch-Site: \(site)")) == .foreignOrigin)
        }
        #expect(try loopback.check(head(host, "Origin: http://localhost:9090", "Sec-Fetch-Site: same-origin")) == nil)
        #expect(try loopback.check(head(host, "Sec-Fetch-Site: none")) == nil)
    }

    @Test func `an action needs the page's token too`() throws {
        let (host, own) = ("Host: localhost:9090", "Origin: http://localhost:9090")
        let token = loopback.token
        #expect(token.count == 64)
        #expect(try loopback.checkAction(head(host, own)) == .noToken)
        #expect(try loopback.checkAction(head(host, own, "X-Portcullis-Console: \(token.dropLast())")) == .noToken)
        #expect(try loopback.checkAction(head(host, own, "X-Portcullis-Console: \(token)x")) == .noToken)
        #expect(try loopback.checkAction(head(host, own, "X-Portcullis-Console: \(token)")) == nil)
        #expect(
            try loopback.checkAction(head(host, "Origin: null", "X-Portcullis-Console: \(token)")) == .foreignOrigin)
    }
}
