import Foundation
import Testing

/// A text of any length that is costly for who compares, splits or decodes it badly.
struct HostileText: Sendable, Hashable, CustomTestStringConvertible {
    let name: String
    /// Bytes before the filling, and behind it.
    private let front, back: [UInt8]
    /// Each part takes an equal share of the text, and repeats its bytes.
    private let parts: [[UInt8]]

    init(_ name: String, front: String = "", _ parts: [[UInt8]], back: String = "") {
        (self.name, self.parts) = (name, parts)
        (self.front, self.back) = (Array(front.utf8), Array(back.utf8))
    }

    init(_ name: String, front: String = "", repeating part: String, back: String = "") {
        self.init(name, front: front, [Array(part.utf8)], back: back)
    }

    /// Of ``count`` bytes at most: no part is cut.
    func bytes(_ count: Int) -> [UInt8] {
        let share = max(0, count - front.count - back.count) / parts.count
        var bytes = front
        bytes.reserveCapacity(count)
        for part in parts {
            for _ in 0..<share / part.count { bytes.append(contentsOf: part) }
        }
        return bytes + back
    }

    var testDescription: String { name }
}

extension HostileText {
    /// Normalisation sorts combining marks by their classes, by insertion. These are in descending classes, so that
    /// every mark has to pass all marks of the runs before: 240, 234, 233, 232, 230, 220, 216, 202, 1.
    static let worstMarks: [Unicode.Scalar] = [
        "\u{345}", "\u{360}", "\u{35C}", "\u{315}", "\u{300}", "\u{316}", "\u{31B}", "\u{321}", "\u{334}",
    ]

    private static let worst = worstMarks.map { Array(String($0).utf8) }

    static let marks = HostileText("marks in descending classes", worst)

    /// What is quadratic for Unicode's algorithms: canonical ordering, and the search for the borders of characters.
    static let unicode: [HostileText] = [
        marks,
        HostileText("a letter and the marks", front: "a", worst),
        HostileText("the marks and a letter", worst, back: "a"),
        HostileText("a known word and the marks", front: "app_attest", worst),
        HostileText("two marks in turn", repeating: "\u{300}\u{316}"),
        HostileText("one mark", repeating: "\u{301}"),
        HostileText("a letter and one mark", front: "e", repeating: "\u{301}"),
        HostileText("a mark of class 0", front: "a", repeating: "\u{35D}\u{34F}"),
        HostileText("composed letters", repeating: "\u{1E69}\u{1FA2}"),
        HostileText("regional indicators", repeating: "\u{1F1E6}\u{1F1FA}"),
        HostileText(
            "runs of Hangul letters",
            ["\u{1100}", "\u{1161}", "\u{11A8}"].map { (letter: Unicode.Scalar) in Array(String(letter).utf8) }),
        HostileText("Hangul syllables from letters", repeating: "\u{1112}\u{1161}\u{11AB}"),
        HostileText("joined emoji", repeating: "\u{1F468}\u{200D}"),
        HostileText("modified emoji", repeating: "\u{1F44B}\u{1F3FD}\u{FE0F}"),
        HostileText("Indic conjuncts", repeating: "\u{915}\u{94D}"),
        HostileText("a conjunct of linkers", front: "\u{915}", repeating: "\u{94D}\u{93C}"),
        HostileText("prepended characters", repeating: "\u{600}"),
        HostileText("variation selectors", front: "a", repeating: "\u{FE0F}"),
    ]

    /// No UTF-8.
    static let broken: [HostileText] = [
        HostileText("continuation bytes", [[0x80]]),
        HostileText("overlong slashes", [[0xC0, 0xAF]]),
        HostileText("characters cut short", [[0xF0, 0x9F, 0x98]]),
        HostileText("half a surrogate pair", [[0xED, 0xA0, 0x80]]),
        HostileText("bytes 255", [[0xFF]]),
    ]

    /// For quadratic splitting, unescaping, nesting and look-up: one long field, and many short ones.
    static let ascii: [HostileText] =
        ["a", "0", "\"", "\\", ",", ";", "=", " ", "/", "&", ":", ".", "'", "%", "<", "[", "-", "*", "#", "\n"].map {
            HostileText("of \($0.debugDescription)", repeating: $0)
        } + [
            HostileText("of CR LF", repeating: "\r\n"),
            HostileText("of words", repeating: "a "),
            HostileText("of list members", repeating: "a,"),
            HostileText("of pairs", repeating: "a=b;"),
            HostileText("of parameters", repeating: "a=b&"),
            HostileText("of percent escapes", repeating: "%41"),
            HostileText("of escapes", repeating: "\\\""),
            HostileText("of quoted strings", repeating: "\"a\","),
            HostileText("of nested objects", repeating: "{\"a\":"),
            HostileText("of tags", repeating: "<b>"),
            HostileText("of entities", repeating: "&lt;"),
            HostileText("of control sequences", repeating: "\u{1B}[1m"),
            HostileText("of dot segments", repeating: "/../a"),
        ]

    static let all = unicode + broken + ascii

    /// One of each kind, which every run of the tests tries in every place. `scripts/test --full`
    /// (`PORTCULLIS_FULL_TESTS=1`) tries all, which takes minutes in a debug build.
    static let usual: Set<String> = [
        "marks in descending classes", "a letter and the marks", "one mark", "joined emoji", "continuation bytes",
        "of \",\"", "of list members", "of escapes",
    ]

    private static let isFull = ProcessInfo.processInfo.environment["PORTCULLIS_FULL_TESTS"] == "1"

    static func isTried(_ text: HostileText) -> Bool { isFull || usual.contains(text.name) }

    /// In every run but the full one a text has half of 64 KB at most: that is enough to tell quadratic time.
    static func triedBytes(of maximum: Int) -> Int { isFull ? maximum : min(maximum, 32_768) }
}
