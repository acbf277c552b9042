import SettingsTestKit
import Testing

@testable import Settings

@Suite struct SettingGrammarTests {
    @Test(arguments: ["", "+1", "-1", "1 ", " 1", "1.5", "1_000", "0x10", "١", "1k", "99999999999999999999"])
    func `only plain digits are a number`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.integer(text, in: 0...10_000) }
    }

    @Test func `the ends of a range are allowed and their neighbours are not`() throws {
        #expect(try SettingGrammar.integer("5", in: 5...7) == 5)
        #expect(try SettingGrammar.integer("007", in: 5...7) == 7)
        #expect(throws: SettingProblem.self) { try SettingGrammar.integer("4", in: 5...7) }
        #expect(throws: SettingProblem.self) { try SettingGrammar.integer("8", in: 5...7) }
    }

    /// The documented range of each number, tested through the loader.
    @Test func `every number is accepted at both ends of its documented range and refused beyond`() throws {
        let bench = try ConfigurationBench()
        for row in GatewaySettings.table.rows {
            guard let range = row.values.split(separator: ", ").last?.split(separator: "–"), range.count == 2,
                let lowest = Int(range[0]), let highest = Int(range[1])
            else { continue }
            // The bench may use another spelling of the same setting.
            let others = GatewaySettings.table.spellings.filter { $0.value == row.name }.mapValues { _ in String?.none }
            func least(with value: Int) -> [String: String] {
                bench.least(others.merging([row.name: String(value)]) { $1 })
            }
            for value in [lowest, highest] {
                let problems = bench.problems(least(with: value))
                #expect(!problems.contains("\(row.name) is out of range"))
            }
            let tooMuch = bench.problems(least(with: highest + 1))
            #expect(tooMuch == ["\(row.name) is out of range"])
            guard lowest > 0 else { continue }
            #expect(bench.problems(least(with: lowest - 1)) == ["\(row.name) is out of range"])
        }
    }

    @Test func `a path stands before others only where the gateway has none of the same name`() throws {
        let longest = "/" + String(repeating: "a", count: 63)
        for text in ["/push", "/push/v1.0", "/api", "/attested", longest] {
            #expect(try SettingGrammar.pathPrefix(text) == text)
        }
        for text in [
            "", "/", "push", "/push/", "//push", "/a//b", "/a b", "/a?b", "/%61", "/\u{E4}", longest + "a", "/attest",
            "/mud", "/api/auth", "/api/auth/passkey",
        ] {
            #expect(throws: SettingProblem.self, "\(text)") { try SettingGrammar.pathPrefix(text) }
        }
    }

    @Test(arguments: ["True", "TRUE", "1", "yes", "on", " true", "false "])
    func `only true and false are Boolean values`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.boolean(text) }
    }

    @Test(arguments: ["mud.example.org", "localhost", "mud_1", "a-b.c", "10.0.0.1", "::1", "2001:db8::1", "xn--nxa.gr"])
    func `hosts are names and addresses`(text: String) throws {
        #expect(try SettingGrammar.host(text)?.text == text)
    }

    @Test(arguments: [
        "tcp://mud", "mud:4000", "[::1]", "mud.", ".mud", "a..b", "-a", "a-", "a b", "a/b", "127.1", "1.2.3.256",
        "4000",
        "münchen.de", "a\u{0}b", String(repeating: "a", count: 64), String(repeating: "a.", count: 126) + "aa",
    ])
    func `text that is neither name nor address is refused`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.host(text) }
    }

    @Test func `a name at the limits of its length is accepted`() throws {
        let label = String(repeating: "a", count: 63)
        #expect(try SettingGrammar.host(label) != nil)
        #expect(try SettingGrammar.host(String(repeating: "a.", count: 126) + "a") != nil)
    }

    @Test(arguments: [
        "https://play.example.org", "http://localhost:8080", "https://10.0.0.1:8443", "http://[::1]:3000",
        "capacitor://localhost", "app://obsidian.md", "http://a:443",
    ])
    func `origins are accepted as browsers send them`(text: String) throws {
        #expect(try SettingGrammar.origins(text) == [text])
    }

    @Test(arguments: [
        "*", "null", "play.example.org", "https://play.example.org/", "https://play.example.org/a",
        "https://*.example.org",
        "https://Play.example.org", "HTTPS://play.example.org", "https://play.example.org:443",
        "http://play.example.org:80",
        "https://a:0", "https://a:080", "https://a:65536", "https://a:", "https://", "://a", "https://u@a",
        "https://a?b",
        "https://[::1", "https://::1", "https://a,,https://b", "https://a,",
    ])
    func `any other text is no origin`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.origins(text) }
    }

    @Test(arguments: ["com.example.*", "AAAAAAAAAA com.example", "", "com.example.app # x", "a,,b", "com+example"])
    func `any other text is no bundle identifier`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.bundleIDs(text) }
    }

    @Test(arguments: ["AAAAAAAAA.com.example", "aaaaaaaaaa.com.example", "AAAAAAAAAA", "AAAAAAAAAA.", "com.example"])
    func `any other text is no app identifier`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.appIDs(text) }
    }

    @Test func `categories are numbers of up to 32 bits`() throws {
        #expect(try SettingGrammar.categories("0, 3,4294967295") == [0, 3, 4_294_967_295])
        #expect(throws: SettingProblem.self) { try SettingGrammar.categories("4294967296") }
        #expect(throws: SettingProblem.self) { try SettingGrammar.categories("three") }
        #expect(throws: SettingProblem.self) { try SettingGrammar.categories(",") }
    }

    @Test(arguments: ["~/keys", "a\nb", "keys.sqlite   # comment", "a\u{0}"])
    func `text that only a shell understands is no path`(text: String) {
        #expect(throws: SettingProblem.self) { try SettingGrammar.requiredPath(text) }
    }

    @Test(arguments: [
        ("", "ABC", 3), ("ABC", "ABC", 0), ("ABC", "ACB", 1), ("ABC", "AB", 1), ("ABC", "AXBC", 1), ("ABC", "XYZ", 3),
        ("WS_PRT", "WS_PORT", 1),
    ])
    func `the distance between two names is the number of edits`(left: String, right: String, distance: Int) {
        #expect(SettingSuggestion.distance(left, right) == distance)
    }

    @Test func `listen addresses are comma-separated and unique, and a wildcard excludes others`() throws {
        #expect(try SettingGrammar.addresses("127.0.0.1, ::1").map(\.text) == ["127.0.0.1", "::1"])
        #expect(try SettingGrammar.addresses("::").map(\.text) == ["::"])
        for text in ["127.0.0.1,", "127.0.0.1,localhost", "::1,0::1", "127.0.0.1,127.0.0.1", "::,127.0.0.1"] {
            #expect(throws: SettingProblem.self) { try SettingGrammar.addresses(text) }
        }
    }

    @Test func `there are at most sixteen listen addresses`() throws {
        let addresses = (1...17).map { "192.0.2.\($0)" }
        #expect(try SettingGrammar.addresses(addresses.dropLast().joined(separator: ",")).count == 16)
        #expect(throws: SettingProblem.self) { try SettingGrammar.addresses(addresses.joined(separator: ",")) }
    }
}
