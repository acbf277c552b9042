/// Finds the lines of a text that contain one of some words, in pieces of any size and in bounded memory.
struct LineSearch {
    /// A line of the audit log is far shorter. A longer one is skipped and counted.
    static let maximumLineBytes = 65_536

    struct Match: Equatable {
        /// Counted from 1.
        let number: Int
        /// Without its newline.
        let bytes: [UInt8]
    }

    private let words: [[UInt8]]
    private var line: [UInt8] = []
    private var isTooLong = false
    /// Lines that have ended.
    private(set) var lineCount = 0
    /// Lines that were too long to be searched.
    private(set) var skippedCount = 0

    /// - Parameter words: none of them empty.
    init(words: [String]) {
        self.words = words.map { Array($0.utf8) }.filter { !$0.isEmpty }
    }

    mutating func feed(_ bytes: ArraySlice<UInt8>) -> [Match] {
        var (matches, rest) = ([Match](), bytes)
        while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
            take(rest[..<newline])
            rest = rest[rest.index(after: newline)...]
            if let match = endLine() { matches.append(match) }
        }
        take(rest)
        return matches
    }

    /// The last line, if the text doesn't end with a newline.
    mutating func finish() -> Match? { line.isEmpty && !isTooLong ? nil : endLine() }

    private mutating func take(_ piece: ArraySlice<UInt8>) {
        guard !isTooLong else { return }
        isTooLong = line.count + piece.count > Self.maximumLineBytes
        if !isTooLong { line += piece }
    }

    private mutating func endLine() -> Match? {
        defer {
            line.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        lineCount += 1
        if isTooLong { skippedCount += 1 }
        guard !isTooLong, words.contains(where: { Self.isIn(line, $0) }) else { return nil }
        return Match(number: lineCount, bytes: line)
    }

    private static func isIn(_ line: [UInt8], _ word: [UInt8]) -> Bool {
        guard let first = word.first, line.count >= word.count else { return false }
        return (0...line.count - word.count).contains { start in
            line[start] == first && line[start..<start + word.count].elementsEqual(word)
        }
    }
}
