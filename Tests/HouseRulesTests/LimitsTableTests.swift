import Testing

/// What docs/LIMITS.md computes, computed again.
@Suite("docs/LIMITS.md")
struct LimitsTableTests {
    private let costs: [[String]]
    private let session: [[String]]
    private let text: String

    init() throws {
        text = try Repository.text("docs/LIMITS.md")
        let rows = Documentation.rows(of: text).filter { $0.first != "What" }
            .map { row in row.map { $0.replacing("**", with: "") } }
        costs = rows.filter { $0.count == 5 }
        session = rows.filter { $0.count == 4 }
    }

    @Test("has the settings' defaults")
    func defaults() throws {
        let settings = Documentation.rows(of: try Repository.text("docs/CONFIGURATION.md"))
        let known = Dictionary(settings.filter { $0.count > 1 }.map { ($0[0], $0[1]) }) { first, _ in first }
        for row in costs + session where row[1].contains("_") {
            let name = row[1]
            let value = try #require(known[name], "\(name)")
            #expect(row[2] == (value == "0" ? "from the file limit" : value), "\(name)")
        }
        #expect(costs.count == 6 && session.count > 10)
    }

    @Test("adds up")
    func sums() throws {
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
