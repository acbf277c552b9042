import Foundation
import Testing

/// Scripts follow the documents block by block in clean machines, and name the blocks that they can't run.
@Suite("The commands in the documents")
struct FollowedDocumentsTests {
    /// A block that a script takes out of pages, by a text in it.
    struct Step: Equatable {
        let pages: [String]
        let text: String
    }

    /// `scripts/try-with-evennia --tutorial` takes all blocks of this page.
    static let wholePages: Set = ["docs/EVENNIA.md"]

    @Test func `are followed by a script, or named by one with the reason why not`() throws {
        let steps = try ["try-documents", "try-fleet"].flatMap { try Self.steps(of: Repository.text("scripts/\($0)")) }
        let pages = Documentation.paths.filter { $0.hasPrefix("docs/") } + ["README.md"]
        var found = 0
        for page in pages where !Self.wholePages.contains(page) {
            for block in Self.shellBlocks(of: try Repository.text(page)) {
                found += 1
                #expect(steps.contains { $0.pages.contains(page) && block.contains($0.text) }, "\(page): \(block)")
            }
        }
        #expect(found > 45)
    }

    @Test func `of the tutorial aren't indented, so that its script sees them`() throws {
        for page in Self.wholePages {
            let text = try Repository.text(page)
            #expect(Documentation.codeBlocks("sh", in: text).count == Self.shellBlocks(of: text).count, "\(page)")
        }
    }

    @Test func `are found in lists too, and the steps in scripts`() {
        let text = "1. a\n\n   ```sh\n   b\n   c\n   ```\n```sh\nd\n```\n```\ne\n```\n"
        #expect(Self.shellBlocks(of: text) == ["   b\n   c\n", "d\n"])
        let script = """
            follow "unread"
            read_guide a.md b.md
            follow "one" 's/x/y/'
            read_guide c.md
                follow_typing "a b" "two
            lines"
            elsewhere "three" "a reason"
            elsewhere "four"
            write /etc/file "five"
            """
        let (both, third) = (["a.md", "b.md"], ["c.md"])
        #expect(
            Self.steps(of: script) == [
                Step(pages: [], text: "unread"), Step(pages: both, text: "one"),
                Step(pages: third, text: "two\nlines"), Step(pages: third, text: "three"),
                Step(pages: third, text: "five"),
            ])
    }

    static func shellBlocks(of text: String) -> [String] {
        text.matches(of: /(?m)^ *```sh\n((?:.*\n)*?) *```$/).map { String($0.1) }
    }

    /// The calls of what `scripts/guide.bash` defines.
    static func steps(of script: String) -> [Step] {
        let reading = /(?m)^ *read_guide (.+)$/
        let steps =
            /(?m)^ *(?:follow|follow_typing (?:"[^"]*"|\w+)|write \S+|elsewhere(?= "[^"]+" "[^"]+")) "([^"]+)"/
        let pages = script.matches(of: reading).map { (at: $0.range.lowerBound, named: $0.1.split(separator: " ")) }
        return script.matches(of: steps).map { step in
            let read = pages.last { $0.at < step.range.lowerBound }?.named ?? []
            return Step(pages: read.map(String.init), text: String(step.1))
        }
    }
}
