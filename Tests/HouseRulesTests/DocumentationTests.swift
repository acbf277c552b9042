import Foundation
import Testing

/// Compares the documentation's statements about the code with the code.
@Suite("The documentation")
struct DocumentationTests {
    @Test func `PROTOCOL.md lists every refusal, with its status, code and text, and no other`() throws {
        let codes = Dictionary(
            uniqueKeysWithValues: try source("RefusalCode").matches(of: /case (\w+) = "(\w+)"/).map {
                (String($0.1), String($0.2))
            })
        let answers = try source("RefusalAnswer").matches(of: /= Self\(\s*(\d+), \.(\w+), "([^"]*)"\)/).map {
            [String($0.1), codes[String($0.2)] ?? "?", String($0.3)]
        }
        #expect(answers.count >= 25 && Set(answers.map { $0[1] }) == Set(codes.values))
        let section = try Documentation.section("All refusals", of: Repository.text("docs/PROTOCOL.md"))
        let listed = Documentation.rows(of: section).dropFirst().map { Array($0.prefix(3)) }
        #expect(listed.count == answers.count)
        #expect(Set(listed) == Set(answers))
    }

    @Test func `PROTOCOL.md names every close code of the gateway, with its reason`() throws {
        let orders =
            try Repository.text("Sources/Session/RelayCore/Session/CloseReason.swift")
            + Repository.text("Sources/Network/Reactors/WebSocket/WebSocketConnection.swift")
        let reasons = orders.matches(of: /\(code: (\d+), (?:text|reason): "([^"]+)"\)/).map {
            [String($0.1), String($0.2)]
        }
        #expect(reasons.count >= 5)
        let listed = try Documentation.rows(of: Repository.text("docs/PROTOCOL.md")).map { Array($0.prefix(2)) }
        for reason in reasons { #expect(listed.contains(reason), "\(reason)") }
    }

    @Test func `ARCHITECTURE.md describes every folder of Sources, and no other`() throws {
        func folders(of folder: String) throws -> [String] {
            let path = Repository.root.appendingPathComponent(folder).path
            return try FileManager.default.contentsOfDirectory(atPath: path).filter { !$0.contains(".") }
        }
        let targets = try folders(of: "Sources").flatMap { room in
            try folders(of: "Sources/\(room)").map { "\(room)/\($0)" }
        }
        let text = try Documentation.section("Source folders", of: Repository.text("docs/ARCHITECTURE.md"))
        let rows = Documentation.rows(of: text).dropFirst()
        #expect(targets.count > 35 && rows.map { $0[0] }.sorted() == targets.sorted())
        #expect(rows.allSatisfy { $0.count == 2 && $0[1].count > 20 })
    }

    @Test func `every source file that ARCHITECTURE.md names exists`() throws {
        let text = try Repository.text("docs/ARCHITECTURE.md")
        let named = text.matches(of: /`([A-Za-z+]+\.swift)`/).map { String($0.1) }
        let files = (Repository.sources + Repository.tests).compactMap { $0.path.split(separator: "/").last }.map(
            String.init)
        #expect(named.count > 10 && Set(named).subtracting(files).subtracting(["Package.swift"]).isEmpty)
    }

    @Test func `every test that the documentation quotes exists`() throws {
        var quoted = 0
        for path in Documentation.paths {
            for match in try Repository.text(path).matches(of: /Tests`: “([^”]+)”/) {
                quoted += 1
                let name = "func `\(match.1)`("
                #expect(Repository.tests.contains { $0.text.contains(name) }, "\(path) quotes \(match.1)")
            }
        }
        #expect(quoted >= 8)
    }

    @Test func `ARCHITECTURE.md gives a reason for every dependency of Package.swift, and names no other`() throws {
        let manifest = try Repository.text("Package.swift")
        let text = try Documentation.section("Dependencies", of: Repository.text("docs/ARCHITECTURE.md"))
        let urls = manifest.matches(of: /url: "([^"]+)"/).map { "<\($0.1)>" }
        let rows = Documentation.rows(of: text).dropFirst()
        #expect(!urls.isEmpty && rows.map { $0[0] }.sorted() == urls.sorted())
        #expect(rows.allSatisfy { $0[1].count > 20 })
        for package in manifest.matches(of: /\.apt\(\["([^"]+)"\]\)/) {
            #expect(text.contains("`\(package.1)`"), "\(package.1)")
        }
    }

    @Test func `every alert has a row in TROUBLESHOOTING.md`() throws {
        let alerts = try Repository.text("config/prometheus-alerts.yml").matches(of: /- alert: (\w+)/).map { $0.1 }
        let text = try Repository.text("docs/TROUBLESHOOTING.md")
        #expect(alerts.count > 10)
        for alert in alerts { #expect(text.contains("| `\(alert)` |"), "\(alert)") }
    }

    @Test func `every link to a project file leads to a file, and every anchor to a heading`() throws {
        #expect(
            Set(Documentation.paths).isSuperset(of: [
                "README.md", "docs/PROTOCOL.md", "Sources/Network/CLibwebsockets/README.md", "Tests/README.md",
            ]))
        for path in Documentation.paths {
            for link in Documentation.links(in: try Repository.text(path)) {
                let target = Documentation.resolve(link.path, from: path)
                #expect(exists(target), "\(path) links to \(target)")
                guard let anchor = link.anchor, exists(target) else { continue }
                #expect(
                    Documentation.anchors(in: try Repository.text(target)).contains(anchor),
                    "\(path) links to \(target)#\(anchor)")
            }
        }
    }

    @Test func `every script that the documentation names exists and is executable`() throws {
        var named: Set<String> = []
        for path in Documentation.paths {
            for match in try Repository.text(path).matches(of: /\bscripts\/[a-z-]+/) { named.insert(String(match.0)) }
        }
        #expect(named.isSuperset(of: ["scripts/run", "scripts/test", "scripts/make-dev-certs"]))
        for script in named.sorted() {
            let file = Repository.root.appendingPathComponent(script).path
            #expect(FileManager.default.isExecutableFile(atPath: file), "\(script)")
        }
    }

    @Test func `every setting that the documentation names is in CONFIGURATION.md`() throws {
        let known = Set(Documentation.rows(of: try Repository.text("docs/CONFIGURATION.md")).map { $0[0] })
        // What Evennia, systemd, other programs, kernels and libraries call so.
        let foreign: Set = [
            "CAP_NET_BIND_SERVICE", "NEW_ENVIRON", "RENEWED_LINEAGE", "SEND_ADDRESS", "SO_REUSEPORT", "SSL_CTX",
            "STATE_DIRECTORY", "TELNET_INTERFACES", "TELNET_PROTOCOL_CLASS", "WEBSERVER_ENABLED",
            "WEBSOCKET_CLIENT_ENABLED", "WSI_DESTROY",
        ]
        let pages = Documentation.paths.filter { $0.hasPrefix("docs/") } + ["README.md", "CHANGELOG.md"]
        #expect(pages.count > 15)
        for path in pages {
            for match in try Repository.text(path).matches(of: /\b[A-Z]+(?:_[A-Z]+)+\b/) {
                let name = String(match.0)
                // Nor are variables of the tests, of Evennia and of libwebsockets.
                guard !["PORTCULLIS_", "EVENNIA_", "LWS_"].contains(where: name.hasPrefix), !foreign.contains(name)
                else { continue }
                #expect(known.contains(name) || isPrefix(name, of: known), "\(path): \(name)")
            }
        }
    }

    @Test func `every command and option in the README exists`() throws {
        let blocks = Documentation.codeBlocks("sh", in: try Repository.text("README.md")).joined(separator: "\n")
        let lines = blocks.replacing("\\\n", with: " ").split(separator: "\n").map(String.init)
        for program in ["portcullis", "portcullis-sim"] {
            let (names, options) = vocabulary(of: program)
            let shown = lines.filter { $0.contains("/\(program) ") || $0.hasPrefix("\(program) ") }
            #expect(!shown.isEmpty, "\(program)")
            for line in shown {
                let words = line.split(separator: " ").map(String.init).drop { !$0.hasSuffix(program) }.dropFirst()
                // Words after the second one are arguments.
                let commands = words.prefix { !$0.hasPrefix("-") }.prefix(2)
                #expect(!commands.isEmpty && commands.allSatisfy(names.contains), "\(line)")
                for option in words where option.hasPrefix("--") { #expect(options.contains(option), "\(line)") }
            }
        }
    }

    @Test func `the README's example is compiled and run by a test`() throws {
        func lines(_ text: String) -> [String] {
            text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let blocks = try Documentation.codeBlocks("swift", in: Repository.text("README.md"))
        let example = "Tests/Examples/GuardedService/Sources/GuardedService/AttestedDevices.swift"
        let compiled = lines(try Repository.text(example))
        let shown = try #require(blocks.first { $0.contains("AttestationVerifier") })
        #expect(lines(shown).filter { !compiled.contains($0) } == [])
    }

    @Test func `the example of the library WebAuthn is compiled and run by a test`() throws {
        let compiled = try Repository.text("Tests/WebAuthnTests/GuideExampleTests.swift")
        let guide = try Repository.text("Sources/Libraries/WebAuthn/WebAuthn.docc/WebAuthn.md")
        let blocks = Documentation.codeBlocks("swift", in: guide)
        let shown = try #require(blocks.first { $0.contains("RegistrationVerifier") })
        let type = try #require(shown.range(of: "struct "))
        #expect(compiled.contains(shown[type.lowerBound...].trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    @Test func `the changelog's newest section is the program's version`() throws {
        let program = try Repository.text("Sources/Gateway/GatewayServer/Gateway.swift")
        let version = try #require(program.firstMatch(of: /static let version = "([0-9.]+)"/)).1
        let changelog = try Repository.text("CHANGELOG.md")
        let newest = try #require(changelog.firstMatch(of: /\n## \[([0-9.]+)\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\n/)).1
        #expect(newest == version)
        for path in ["docs/GETTING-STARTED.md", "README.md", "config/Containerfile"] {
            #expect(try Repository.text(path).contains("portcullis_\(version)-1_amd64.deb"), "\(path)")
        }
    }

    // MARK: Length

    /// As `wc -w` counts.
    private func words(_ paths: [String]) throws -> Int {
        try paths.reduce(0) { try $0 + Repository.text($1).split(whereSeparator: \.isWhitespace).count }
    }

    @Test func `the README has at most 900 words`() throws {
        #expect(try words(["README.md"]) <= 900)
    }

    @Test func `ARCHITECTURE.md has at most 4500 words`() throws {
        #expect(try words(["docs/ARCHITECTURE.md"]) <= 4_500)
    }

    @Test func `README and docs have at most 42000 words`() throws {
        let pages = Documentation.paths.filter { $0.hasPrefix("docs/") } + ["README.md"]
        #expect(try words(pages) <= 42_000)
    }

    @Test func `the index of the documentation leads to every page`() throws {
        let links = Documentation.links(in: try Repository.text("docs/README.md"))
        let linked = Set(links.map { Documentation.resolve($0.path, from: "docs/README.md") })
        let pages = Documentation.paths.filter { $0.hasPrefix("docs/") && $0 != "docs/README.md" }
        #expect(pages.filter { !linked.contains($0) } == [])
    }

    // MARK: Help

    /// Whether it is written in place of several settings, like `APPATTEST_`.
    private func isPrefix(_ name: String, of settings: Set<String>) -> Bool {
        settings.contains { $0.hasPrefix(name + "_") }
    }

    private func source(_ name: String) throws -> String {
        try Repository.text("Sources/Gate/Admission/Decision/\(name).swift")
    }

    private func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: Repository.root.appendingPathComponent(path).path)
    }

    /// The subcommands of a program, and the options of all of them, as swift-argument-parser makes them of the
    /// properties' names.
    private func vocabulary(of program: String) -> (names: Set<String>, options: Set<String>) {
        let text = Repository.sources.filter { $0.target == program }.map(\.text).joined(separator: "\n")
        let types = text.matches(of: /struct (\w+?)(?:Command)?: (?:Async)?ParsableCommand/).map { $0.1.lowercased() }
        let named = text.matches(of: /commandName: "([a-z-]+)"/).map { String($0.1) }
        let properties = text.matches(of: /@(?:Option|Flag)[^\n]*\n?\s*var (\w+)/).map { kebab($0.1) }
        let custom = text.matches(of: /customLong\("([a-z-]+)"\)/).map { String($0.1) }
        return (Set(types + named), Set((properties + custom).map { "--\($0)" }))
    }

    private func kebab(_ name: Substring) -> String {
        name.reduce(into: "") { text, character in
            text += character.isUppercase ? "-" + character.lowercased() : String(character)
        }
    }
}

@Suite("The reader of Markdown")
struct DocumentationReaderTests {
    @Test func `reads tables, links, headings and code blocks`() {
        #expect(Documentation.rows(of: "| a | `b` |\n|---|---|\n| c | – |\nx | y") == [["a", "b"], ["c", "–"]])
        #expect(Documentation.section("A", of: "\n## A\n1\n## B\n2") == "1")
        #expect(Documentation.section("B", of: "\n## A\n1\n## B\n2") == "2")
        #expect(Documentation.section("C", of: "\n## A\n1") == "")
        let links = Documentation.links(in: "[a](b.md#c) <https://d> [e](https://f) [g](#h) [i](../j)")
        #expect(links.map(\.path) == ["b.md", "", "../j"] && links.map(\.anchor) == ["c", "h", nil])
        #expect(Documentation.anchors(in: "# `GET /a`, now\ntext\n### B-c d") == ["get-a-now", "b-c-d"])
        #expect(Documentation.codeBlocks("sh", in: "\n```sh\na\nb\n```\n```swift\nc\n```") == ["a\nb"])
    }

    @Test(arguments: [
        ("b.md", "a.md", "b.md"), ("b.md", "docs/a.md", "docs/b.md"), ("../b.md", "docs/a.md", "b.md"),
        ("", "docs/a.md", "docs/a.md"), ("./x/../b.md", "a.md", "b.md"),
    ])
    func `resolves links relative to their document`(link: String, path: String, target: String) {
        #expect(Documentation.resolve(link, from: path) == target)
    }
}
