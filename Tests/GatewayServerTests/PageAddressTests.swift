import Foundation
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer

/// The web client's address as printed by `portcullis ticket`.
@Suite struct PageAddressTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    private func origin(_ changes: [String: String?], hosts: [String] = [], port: Int = 6200) throws -> String {
        let server = try bench.authority.issue("server", now: bench.now, hosts: hosts)
        // As certbot writes it, with its issuer.
        let settings = try bench.secured(changes).merging([
            "TLS_CERT_PATH": bench.file("named.pem", server.certificate + bench.authority.certificate),
            "TLS_KEY_PATH": bench.file("named.key", server.key),
        ]) { $1 }
        return PageAddress.origin(of: try bench.load(settings).configuration, port: port)
    }

    /// As the kernel has it: what a resolver says of it is another matter.
    private var machineName: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    @Test func `an address that browsers can open is used`() throws {
        #expect(try origin([:], hosts: ["mud.example"]) == "https://127.0.0.1:6200")
        #expect(try origin(["BIND_HOST": "::1"], port: 443) == "https://[::1]")
    }

    @Test(arguments: ["0.0.0.0", "::", "0:0::0", "127.0.0.1,::1"]) func `several addresses give none`(host: String)
        throws
    {
        let names = ["*.example", "mud.example", "other.example"]
        #expect(try origin(["BIND_HOST": host], hosts: names) == "https://mud.example:6200")
        #expect(try origin(["BIND_HOST": host], hosts: names, port: 443) == "https://mud.example")
    }

    @Test func `without a name in the certificate the machine's name is used`() throws {
        #expect(try origin(["BIND_HOST": "0.0.0.0"]) == "https://\(machineName):6200")
    }

    @Test func `the operator's address takes precedence`() throws {
        let changes = ["BIND_HOST": "0.0.0.0", "PUBLIC_ORIGIN": "https://play.example"]
        #expect(try origin(changes, hosts: ["mud.example"]) == "https://play.example")
    }
}
