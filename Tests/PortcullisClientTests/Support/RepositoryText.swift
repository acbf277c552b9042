import Foundation

/// Files of the project, found from where this file stood when it was compiled.
enum RepositoryText {
    static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static func read(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The rows of the tables of a section, without the marks around code.
    static func rows(_ path: String, section: String) throws -> [[String]] {
        let lines = try read(path).components(separatedBy: "\n")
        guard let start = lines.firstIndex(of: section) else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("#") }.filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
                $0.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: "`", with: "")
            }
        }
    }

    /// Swift files below a folder, by path.
    static func swiftFiles(below folder: String) -> [(path: String, text: String)] {
        let names = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
        return (names?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }.sorted().compactMap {
            name in
            (try? read("\(folder)/\(name)")).map { ("\(folder)/\(name)", $0) }
        }
    }
}
