/// The common format of operators' lists: one entry per line, made of words; `#` begins a comment.
enum OperatorList {
    struct Line {
        /// From 1.
        let number: Int
        /// Never empty.
        let words: [Substring]
    }

    /// The lines that contain an entry, in order.
    static func lines(of text: String) -> some Sequence<Line> {
        let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        return text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).lazy.enumerated()
            .compactMap { index, line in
                let words = line.prefix { $0 != UInt8(ascii: "#") }.split { blanks.contains($0) }
                return words.isEmpty ? nil : Line(number: index + 1, words: words.map { Substring($0) })
            }
    }
}

/// Why a list can't be used.
package struct OperatorListError: Error, Hashable, Sendable {
    /// From 1; `nil` when it is about the whole list.
    package let line: Int?
    /// Follows "line 3" or the name of the list: "isn't …". It doesn't quote the line.
    package let problem: String
    /// A sentence that says what to do.
    package let remedy: String
}
