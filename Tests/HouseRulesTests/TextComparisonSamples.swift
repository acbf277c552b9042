import Foundation

/// What the rule about comparisons of text forbids, each in a function of its own, so that a test sees whether the rule
/// still finds it in what the compiler makes of it.
enum TextComparisonSamples {
    static func equals(_ text: String) -> Bool { text == "word" }
    static func equalsPart(_ text: Substring) -> Bool { text == "word" }
    static func isLess(_ text: String) -> Bool { text < "word" }
    static func isCharacter(_ character: Character) -> Bool { character == "w" }
    static func chooses(_ text: String) -> Int {
        switch text {
        case "one": 1
        case "two": 2
        case "three": 3
        case "four": 4
        case "five": 5
        default: 0
        }
    }
    static func isAmong(_ text: String, _ words: [String]) -> Bool { words.contains(text) }
    static func isMember(_ text: String, _ words: Set<String>) -> Bool { words.contains(text) }
    static func looksUp(_ text: String, _ table: [String: Int]) -> Int? { table[text] }
    static func looksUpPart(_ text: Substring, _ table: [Substring: Int]) -> Int? { table[text] }
    static func sorts(_ words: [String]) -> [String] { words.sorted() }
    static func begins(_ text: String) -> Bool { text.hasPrefix("word") }
    static func ends(_ text: Substring) -> Bool { text.hasSuffix("word") }
    static func splits(_ text: String) -> [Substring] { text.split(separator: ",") }
    static func finds(_ text: String) -> String.Index? { text.firstIndex(of: ",") }
    static func searches(_ text: String) -> Bool { text.contains { $0 == "," } }
    static func lowers(_ text: String) -> String { text.lowercased() }
    static func counts(_ text: String) -> Int { text.count }
    static func drops(_ text: String) -> Substring { text.dropFirst() }
    static func comparesLists(_ one: [String], _ other: [String]) -> Bool { one == other }
    static func comparesValues(_ one: Derived, _ other: Derived) -> Bool { one == other }
    static func readsWord(_ text: String) -> Word? { Word(rawValue: text) }
    static func decodes(_ text: Data) throws -> [Int] { try JSONDecoder().decode([Int].self, from: text) }

    struct Derived: Hashable {
        let text: String
    }

    enum Word: String {
        case one, two
    }
}
