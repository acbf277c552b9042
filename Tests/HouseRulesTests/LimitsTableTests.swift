import Testing

/// Repeats the computations of docs/LIMITS.md, and compares its tables, and those beside the code, with the code.
@Suite("docs/LIMITS.md")
struct LimitsTableTests {
    private let costs: [[String]]
    private let session: [[String]]
    private let reactor: [[String]]
    private let text: String

    private static let pages = [
        "docs/LIMITS.md", "Sources/Libraries/DPoP/DPoP.docc/DPoP.md",
        "Sources/Network/Reactors/Reactors.docc/Limits.md",
        "Sources/Session/Relay/Relay.docc/Fleet.md", "Sources/Session/Relay/Relay.docc/SignedRequests.md",
        "Sources/Libraries/WebAuthn/WebAuthn.docc/WebAuthn.md",
    ]

    init() throws {
        text = try Repository.text("docs/LIMITS.md")
        let pages = try Self.pages.map(Repository.text).joined(separator: "\n")
        let rows = Documentation.rows(of: pages).filter { $0.first != "What" }
            .map { row in row.map { $0.replacing("**", with: "") } }
        costs = rows.filter { $0.count == 5 }
        session = rows.filter { $0.count == 4 }
        reactor = rows.filter { $0.count == 3 }
    }

    @Test func `has the settings' defaults`() throws {
        let settings = Documentation.rows(of: try Repository.text("docs/CONFIGURATION.md"))
        let known = Dictionary(settings.filter { $0.count > 1 }.map { ($0[0], $0[1]) }) { first, _ in first }
        for row in costs + session where row[1].contains("_") {
            let name = row[1]
            let value = try #require(known[name], "\(name)")
            #expect(row[2] == (value == "0" ? "from the file limit" : value), "\(name)")
        }
        #expect(costs.count == 16 && session.count > 10)
    }

    @Test func `has the values of the fixed limits`() throws {
        for row in reactor + (costs + session).filter({ $0[1].contains(".") }) {
            #expect(Int(row[2]) == (try constant(row[1])), "\(row[1])")
        }
        #expect(reactor.count == 131)
    }

    @Test func `covers everything that a reactor keeps`() throws {
        let stated = try #require(text.firstMatch(of: /each further\s+reactor may keep ([0-9]+) MiB more/))
        let kept = try constant("BufferPool.keptBytesPerSize") * constant("BufferPool.sizes")
        #expect(kept <= (try #require(Int(stated.1))) << 20)
    }

    /// The value of `Type.name` in the sources: in the first file that declares the type.
    private func constant(_ path: String) throws -> Int {
        let names = path.split(separator: ".").map(String.init)
        let file = try #require(Self.files[names[0]], "\(path)")
        let value = try Regex("static let \(names[1])(?:: Int64)? = ([0-9_]+)\n", as: (Substring, Substring).self)
        let number = try #require(file.text.firstMatch(of: value), "\(path)")
        return try #require(Int(number.1.filter { $0 != "_" }))
    }

    /// The first file of each type.
    private static let files: [String: SourceFile] = {
        let declarations: Set = ["enum", "struct", "class"]
        var files: [String: SourceFile] = [:]
        for file in Repository.sources {
            let tokens = file.swift.tokens
            for (word, next) in zip(tokens, tokens.dropFirst())
            where declarations.contains(word.text) && files[next.text] == nil {
                files[next.text] = file
            }
        }
        return files
    }()

    @Test func `adds up`() throws {
        var together = 0
        for row in costs where !row[4].isEmpty {
            let each = try bytes(row[3])
            #expect(try bytes(row[4]) == (try #require(Int(row[2]))) * each, "\(row[0])")
            together += try bytes(row[4])
        }
        let parts = try session.dropLast().reduce(0) { try $0 + bytes($1[3]) }
        #expect(try bytes(try #require(session.last)[3]) == parts)
        #expect(costs.contains { $0[0].hasPrefix("a session") && $0[3] == session.last?[3] })
        let stated = try #require(text.firstMatch(of: /at most ([0-9,]+) KiB \(([0-9]+) MiB\)/))
        #expect(Int(stated.1.filter { $0 != "," }) == together / 1024)
        #expect(Int(stated.2) == (together / 1024 + 1023) / 1024)
    }

    private func bytes(_ cell: String) throws -> Int {
        let words = cell.split(separator: " ")
        let number = try #require(words.first.flatMap { Int($0) }, "\(cell)")
        return words.last == "KiB" ? number * 1024 : number
    }
}
