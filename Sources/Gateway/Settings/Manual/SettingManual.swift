/// The manual of a table of settings: the tables of `docs/CONFIGURATION.md`, and `config/portcullis.env.example`.
/// `portcullis settings` prints both; a test compares the files with it.
package struct SettingManual: Sendable {
    private let table: SettingTable

    package init(_ table: SettingTable = GatewaySettings.table) {
        self.table = table
    }

    // MARK: Markdown

    /// All sections, each with its heading and its table.
    package var markdown: String {
        table.sections.map { "## \($0.title)\n\n" + Self.table(of: $0).joined(separator: "\n") + "\n" }
            .joined(separator: "\n")
    }

    /// The document with the tables of this manual: below each section's heading its first table is replaced. The text
    /// around the tables stays. Headings that are missing are added at the end.
    package func updating(_ document: String) -> String {
        var lines = document.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for section in table.sections {
            let new = Self.table(of: section)
            guard let heading = lines.firstIndex(of: "## \(section.title)") else {
                lines += ["## \(section.title)", ""] + new + [""]
                continue
            }
            let end = lines[(heading + 1)...].firstIndex { $0.hasPrefix("## ") } ?? lines.endIndex
            guard let first = lines[heading..<end].firstIndex(where: { $0.hasPrefix("|") }) else {
                lines.insert(contentsOf: [""] + new, at: heading + 1)
                continue
            }
            let last = lines[first..<end].firstIndex { !$0.hasPrefix("|") } ?? end
            lines.replaceSubrange(first..<last, with: new)
        }
        return lines.joined(separator: "\n")
    }

    private static func table(of section: SettingTable.Section) -> [String] {
        let rows = section.settings.map(\.row).map { row in
            let fallback = row.isRequired ? "required" : row.defaultText.isEmpty ? "–" : "`\(row.defaultText)`"
            return "| `\(row.name)` | \(fallback) | \(row.values) | \(row.reload.rawValue) | \(row.meaning) |"
        }
        return ["| name | default | unit, values | change | meaning |", "|---|---|---|---|---|"] + rows
    }

    // MARK: The example file

    /// An environment file with every setting as a comment.
    package var environmentFile: String {
        Self.preface + table.sections.map(Self.chapter).joined()
    }

    private static let width = 118

    private static let preface = """
        # The settings of Portcullis. `portcullis settings --format env` writes this file.
        #
        # Copy it, remove the `#` before the settings that you change, and start the gateway with
        #
        #     portcullis serve --env-file config/portcullis.env
        #
        # `portcullis check-config --env-file …` reads everything, reports all errors at once, and listens on nothing.
        # Variables of the process's environment override this file. An empty value counts as not set.
        #
        # One setting a line, NAME=value, without spaces around the `=`. A comment may follow the value after a space. Values
        # may be in single quotes (taken literally) or in double quotes (with \\" \\\\ \\$). Variables aren't expanded, and a
        # name may occur once. A name that isn't a setting stops the start, and so does a value that isn't allowed.
        #
        # Each setting below shows its default. A gateway needs at least TARGET_HOST, TARGET_PORT, a certificate with its key,
        # and an admission method: an app for App Attest, an authority for client certificates, or a control socket for
        # tickets.

        """

    private static func chapter(_ section: SettingTable.Section) -> String {
        let rule = "# " + String(repeating: "-", count: width - 2)
        return "\n\n\(rule)\n# \(section.title)\n\(rule)\n" + section.settings.map { entry($0.row) }.joined()
    }

    private static func entry(_ row: SettingRow) -> String {
        let facts =
            "Values: \(row.values)." + (row.isRequired ? " Required." : "")
            + (row.reload == .restart ? " A change needs a restart." : "")
            + (row.spellings.isEmpty ? "" : " Also read as \(row.spellings.joined(separator: ", ")).")
        var paragraphs = [row.meaning[...]] + row.details.split(separator: "\n") + [facts[...]]
        if row.details.first?.isWhitespace == false, !row.details.hasPrefix("Danger:") {
            let second = paragraphs.remove(at: 1)
            paragraphs[0] += " " + second
        }
        return "\n" + paragraphs.flatMap(wrapped).map { "# \($0)\n" }.joined() + "#\(row.name)=\(row.defaultText)\n"
    }

    /// The lines of one paragraph. One that begins with a space is left as it is.
    private static func wrapped(_ paragraph: Substring) -> [String] {
        guard !paragraph.hasPrefix(" ") else { return [String(paragraph)] }
        return paragraph.split(separator: " ").reduce(into: []) { lines, word in
            if let last = lines.last, last.count + 1 + word.count <= width - 2 {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
    }
}
