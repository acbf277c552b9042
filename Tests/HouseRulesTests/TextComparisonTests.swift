import Foundation
import Testing

@Suite("Comparisons of text")
struct TextComparisonTests {
    /// Tools, which no stranger's text reaches.
    private static let tools: Set = ["portcullis-sim", "DeviceSimulation"]

    private static let sources = Repository.sources.filter { !tools.contains($0.target) }

    /// By path.
    private static let findings: [String: [String]] = Dictionary(
        uniqueKeysWithValues: sources.map { source in
            (source.path, TextComparisons.object(of: source).map(TextComparisons.findings) ?? [])
        })

    @Test func `every source was compiled on its own`() {
        let missing = Self.sources.filter { TextComparisons.object(of: $0) == nil }.map(\.path)
        #expect(missing == [], "in \(TextComparisons.folder.path): build with swift build --build-tests")
    }

    @Test func `text of peers is compared as bytes`() {
        for source in Self.sources where TextComparisonTable.reason(for: source) == nil {
            let found = Self.findings[source.path, default: []]
            #expect(
                found == [],
                "\(source.path): use ByteText, WireWord or bytes (see Sources/Libraries/WireText/ByteText.swift)")
        }
    }

    @Test func `every row of the table is needed`() {
        let idle = TextComparisonTable.files.keys.filter { Self.findings[$0, default: []].isEmpty }
        #expect(idle.sorted() == [])
        let targets = Set(Self.sources.map(\.target))
        #expect(Set(TextComparisonTable.targets.keys).isSubset(of: targets))
    }

    @Test func `the rule finds every kind of comparison`() throws {
        let path = "Tests/HouseRulesTests/TextComparisonSamples.swift"
        let sample = try #require(Repository.tests.first { $0.path == path })
        let findings = TextComparisons.findings(in: try #require(TextComparisons.object(of: sample)))
        for function in [
            "equals", "equalsPart", "isLess", "isCharacter", "chooses", "isAmong", "isMember", "looksUp", "looksUpPart",
            "sorts", "begins", "ends", "splits", "finds", "searches", "lowers", "counts", "drops", "comparesLists",
            "readsWord", "decodes",
        ] {
            #expect(findings.contains { $0.contains("\(function.utf8.count)\(function)") }, "\(function)")
        }
        // The value's own derived comparison.
        #expect(findings.contains { $0.contains("7Derived") && $0.contains("__derived_struct_equals") })
    }
}
