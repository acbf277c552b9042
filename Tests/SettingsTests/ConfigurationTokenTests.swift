import Admission
import Foundation
import SettingsTestKit
import Testing

@testable import Settings

/// The settings of access tokens.
@Suite struct ConfigurationTokenTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test func `the defaults are the documented ones`() throws {
        let tokens = try bench.load(bench.least()).configuration.tokens
        #expect(tokens.lifetimeSeconds == 300 && tokens.nonces == .off && tokens.sessionOutlivesToken)
        #expect(tokens.maximumProofs == 100_000)
        #expect(tokens.refreshLifetimeDays == 30 && tokens.refreshRepeatSeconds == 60)
    }

    /// Clients refresh a minute before the end.
    @Test func `a token's lifetime is at least two minutes`() throws {
        #expect(
            bench.problems(bench.least(["ACCESS_TOKEN_TTL_SECONDS": "119"]))
                == ["ACCESS_TOKEN_TTL_SECONDS is out of range"])
        #expect(bench.problems(bench.least(["ACCESS_TOKEN_TTL_SECONDS": "120"])).isEmpty)
    }

    @Test func `a tool needs only its own settings`() throws {
        let tokens = try ConfigurationLoading.loadTokens(
            environment: ["ACCESS_TOKEN_TTL_SECONDS": "700"], environmentFile: nil)
        #expect(tokens.lifetimeSeconds == 700)
        #expect(throws: ConfigurationErrors.self) {
            try ConfigurationLoading.loadTokens(environment: ["ACCESS_TOKEN_TTL_SECONDS": "x"], environmentFile: nil)
        }
    }

    /// Without an origin no proof can be checked.
    @Test func `access tokens that would be off are a warning`() throws {
        func warnings(_ names: [String]?, origin: String? = nil) throws -> [String] {
            guard let names else { return try bench.warnings(bench.least(["PUBLIC_ORIGIN": origin])) }
            let server = try bench.authority.issue("server", now: bench.now, hosts: names)
            let files = [
                "TLS_CERT_PATH": try bench.file("named.pem", server.certificate),
                "TLS_KEY_PATH": try bench.file("named.key", server.key),
            ]
            return try bench.warnings(bench.secured(["PUBLIC_ORIGIN": origin]).merging(files) { $1 })
        }
        let plain = try warnings(nil)
        #expect(plain.count == 1)
        #expect(plain.first?.hasPrefix("PUBLIC_ORIGIN: isn't set, and INBOUND_TLS_MODE is off") == true, "\(plain)")
        for names in [[], ["*.example.com"]] {
            let found = try warnings(names)
            #expect(found.count == 1)
            #expect(found.first?.contains("no name") == true, "\(found)")
            #expect(found.first?.contains("public_origin_required") == true)
            let named = try warnings(names, origin: "https://mud.example.com")
            #expect(named.isEmpty == !names.isEmpty && !named.contains { $0.contains("access tokens") }, "\(named)")
        }
        #expect(try warnings(["*.example.com", "mud.example.com"]).isEmpty)
        #expect(try warnings(nil, origin: "https://mud.example.com").isEmpty)
    }
}
