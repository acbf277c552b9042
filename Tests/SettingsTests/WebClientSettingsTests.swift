import SettingsTestKit
import Testing

@testable import Settings

/// The web client's texts, and the store that its players' tickets need.
@Suite struct WebClientSettingsTests {
    private let bench: ConfigurationBench

    init() throws { bench = try ConfigurationBench() }

    @Test(arguments: [("WEB_CLIENT_TITLE", 100), ("WEB_CLIENT_NO_TICKET", 1_000)])
    func `a text has at most so many bytes, in one line`(name: String, bytes: Int) throws {
        func problems(_ text: String) -> [String] { bench.problems(bench.least([name: text])) }
        #expect(problems(String(repeating: "a", count: bytes)) == [])
        #expect(problems(String(repeating: "ä", count: bytes / 2)) == [])
        #expect(problems(String(repeating: "a", count: bytes + 1)) == ["\(name) is longer than \(bytes) bytes"])
        #expect(problems(String(repeating: "ä", count: bytes / 2) + "a") == ["\(name) is longer than \(bytes) bytes"])
        for control in ["\n", "\u{1B}", "\u{7F}", "\u{85}"] {
            #expect(problems("a\(control)b") == ["\(name) holds a control character"])
        }
        let text = #"<b>Ä & "Ö"</b>"#
        let tickets = try bench.load(bench.least([name: text])).configuration.tickets
        #expect([tickets.webClientTitle, tickets.webClientNoTicket].contains(text))
    }

    private struct Loaded: Equatable {
        let usesStore: Bool
        var warnings: [String] = []
    }

    @Test func `a gateway without App Attest has a store for tickets if one is named`() throws {
        let base: [String: String?] = [
            "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "REQUIRE_APP_AUTH": "true",
            "CONTROL_SOCKET_PATH": bench.folder + "/control.sock", "ENABLE_WEB_CLIENT": "true",
        ]
        func loaded(_ changes: [String: String?]) throws -> Loaded {
            let settings = bench.least(base.merging(changes) { $1 })
            let warnings = try bench.warnings(settings).filter { $0.contains("ATTESTED_KEYS_PATH") }
            return Loaded(usesStore: try bench.load(settings).configuration.usesStoreFile, warnings: warnings)
        }
        #expect(try loaded([:]) == Loaded(usesStore: true))
        let unneeded: [[String: String?]] = [
            ["RESUME_GRACE_MINUTES": "0"], ["CONTROL_SOCKET_PATH": nil, "ENABLE_WEB_CLIENT": nil],
        ]
        for changes in unneeded {
            #expect(try loaded(changes.merging(["REQUIRE_APP_AUTH": "false"]) { $1 }) == Loaded(usesStore: false))
        }
        let unnamed = try loaded(["ATTESTED_KEYS_PATH": nil])
        #expect(!unnamed.usesStore && unnamed.warnings.count == 1)
        #expect(unnamed.warnings[0].hasPrefix("ENABLE_WEB_CLIENT: is true without ATTESTED_KEYS_PATH"))
        #expect(try loaded(["ATTESTED_KEYS_PATH": nil, "REQUIRE_APP_AUTH": "false"]) == Loaded(usesStore: false))
        let nowhere: [String: String?] = ["ATTESTED_KEYS_PATH": "/nonexistent/keys.sqlite"]
        let missing = bench.problems(bench.least(base.merging(nowhere) { $1 }))
        #expect(missing.count == 1 && missing[0].hasPrefix("ATTESTED_KEYS_PATH names a file that can't be written"))
    }
}
