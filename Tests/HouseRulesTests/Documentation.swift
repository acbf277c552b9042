import Foundation

/// The project's Markdown files, as far as tests look into them.
enum Documentation {
    /// All of them, but for what a build has fetched.
    static let paths: [String] = {
        func names(_ folder: String, deep: Bool) -> [String] {
            let path = folder.isEmpty ? Repository.root.path : Repository.root.appendingPathComponent(folder).path
            let files = FileManager.default
            let found =
                deep ? try? files.subpathsOfDirectory(atPath: path) : try? files.contentsOfDirectory(atPath: path)
            return (found ?? []).filter { $0.hasSuffix(".md") && !$0.contains(".build") }
                .map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }
        let flat = ["", "docs", "certs", "config", "scripts"].flatMap { names($0, deep: false) }
        return (flat + ["Sources", "Tests"].flatMap { names($0, deep: true) }).sorted()
    }()

    /// The cells of all table rows, without the marks around code.
    static func rows(of text: String) -> [[String]] {
        text.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { cell in
                cell.trimmingCharacters(in: .whitespaces).replacing("`", with: "")
            }
        }
    }

    /// The part of `text` below the heading, up to the next one of the same kind.
    static func section(_ heading: String, of text: String) -> String {
        guard let start = text.range(of: "\n## \(heading)\n") else { return "" }
        let rest = text[start.upperBound...]
        return String(rest[..<(rest.range(of: "\n## ")?.lowerBound ?? rest.endIndex)])
    }

    /// Targets of Markdown links that lead to files of the project, with their anchors.
    static func links(in text: String) -> [(path: String, anchor: String?)] {
        text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
            .filter { $0.wholeMatch(of: /[a-z]+:.*/) == nil }.map { target in
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count > 1 ? String(parts[1]) : nil)
            }
    }

    /// The anchors that GitHub makes of headings.
    static func anchors(in text: String) -> Set<String> {
        Set(
            text.matches(of: /(?m)^#+ +(.+)$/).map { heading in
                heading.1.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
                    .replacing(" ", with: "-")
            })
    }

    /// Code blocks of one language, without their fences.
    static func codeBlocks(_ language: String, in text: String) -> [String] {
        text.components(separatedBy: "\n```\(language)\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
    }

    /// Where a link in the file `path` leads, relative to the root.
    static func resolve(_ link: String, from path: String) -> String {
        var parts = link.isEmpty ? [] : path.split(separator: "/").dropLast().map(String.init)
        for part in (link.isEmpty ? path : link).split(separator: "/").map(String.init) where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }
}
