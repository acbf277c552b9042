import Foundation
import Testing

@testable import Settings

/// The example file and the tables in the documentation match the code.
@Suite struct ConfigurationManualTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8).components(separatedBy: "\n")
    }

    /// Lines with an assignment, including those commented out.
    private func assignments() throws -> [(index: Int, text: String)] {
        try lines("config/portcullis.env.example").enumerated().compactMap { index, line in
            let text = line.hasPrefix("#") ? String(line.dropFirst()) : line
            let name = text.prefix { $0.isUppercase || $0.isNumber || $0 == "_" }
            return !name.isEmpty && text.dropFirst(name.count).hasPrefix("=") ? (index, line) : nil
        }
    }

    @Test func `the example file shows every setting once with its default and nothing else`() throws {
        #expect(try assignments().map(\.text) == GatewaySettings.table.rows.map { "#\($0.name)=\($0.defaultText)" })
    }

    @Test func `every setting of the example file has its explanation above it`() throws {
        let lines = try lines("config/portcullis.env.example")
        for (index, text) in try assignments() {
            let prose = lines[..<index].reversed().prefix { $0.hasPrefix("# ") }.joined()
            #expect(prose.count > 30, "\(text)")
        }
    }

    @Test func `the example file has a section for each table`() throws {
        let lines = try lines("config/portcullis.env.example")
        let titles = lines.indices.dropFirst().dropLast().filter {
            lines[$0 - 1].hasPrefix("# ---") && lines[$0 + 1].hasPrefix("# ---")
        }.map { String(lines[$0].dropFirst(2)) }
        #expect(titles == GatewaySettings.table.sections.map(\.title))
    }

    @Test func `the example file is valid with and without its comment marks`() throws {
        let text = try lines("config/portcullis.env.example").joined(separator: "\n")
        #expect(SettingFile(text) == SettingFile(""))
        var uncommented = try lines("config/portcullis.env.example")
        for (index, _) in try assignments() { uncommented[index].removeFirst() }
        let file = SettingFile(uncommented.joined(separator: "\n"))
        #expect(file.faults == [])
        #expect(file.entries.map(\.name) == GatewaySettings.table.rows.map(\.name))
        #expect(file.entries.map(\.value) == GatewaySettings.table.rows.map(\.defaultText))
    }

    @Test func `the tables of the documentation match the code`() throws {
        let documented = try lines("docs/CONFIGURATION.md").filter { $0.hasPrefix("## ") || $0.hasPrefix("| `") }
        #expect(documented == expectedDocumentation())
    }

    private func expectedDocumentation() -> [String] {
        GatewaySettings.table.sections.flatMap { section in
            ["## " + section.title]
                + section.settings.map(\.row).map { row in
                    let fallback = row.isRequired ? "required" : row.defaultText.isEmpty ? "–" : "`\(row.defaultText)`"
                    return "| `\(row.name)` | \(fallback) | \(row.values) | \(row.reload) | \(row.meaning) |"
                }
        }
    }

    /// To write them: `portcullis settings --format env` and
    /// `portcullis settings --format markdown --into docs/CONFIGURATION.md`.
    @Test func `both files equal the command's output`() throws {
        let manual = SettingManual()
        #expect(try lines("config/portcullis.env.example").joined(separator: "\n") == manual.environmentFile)
        let document = try lines("docs/CONFIGURATION.md").joined(separator: "\n")
        #expect(manual.updating(document) == document)
    }

    @Test func `no line of the example file is longer than a terminal`() throws {
        for line in try lines("config/portcullis.env.example") where !line.hasPrefix("#  ") {
            #expect(line.count <= 118, "\(line)")
        }
    }
}
