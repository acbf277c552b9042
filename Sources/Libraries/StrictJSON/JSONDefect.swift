/// Why a text isn't the JSON that was expected. Offsets count bytes from the beginning of the text.
package enum JSONDefect: Error, Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(at: Int)
    /// A control character, an unknown escape, half a surrogate pair, or bytes that aren't UTF-8.
    case malformedString(at: Int)
    /// Not a JSON number, or longer than ``JSONBounds/maximumNumberBytes``.
    case malformedNumber(at: Int)
    /// Longer than ``JSONBounds/maximumBytes``.
    case tooLong
    /// Nested deeper than ``JSONBounds/maximumDepth``.
    case tooDeep
    /// More than ``JSONBounds/maximumValues``.
    case tooManyValues
    /// One object has two members with the same name, and ``JSONBounds/repeatedNames`` refuses them.
    case duplicateMember(at: Int)
    /// JSON, but not an object.
    case notAnObject
}

/// What a text may cost the reader, and which texts it reads. Every caller has its own.
package struct JSONBounds: Hashable, Sendable {
    /// What becomes of an object with several members of one name, of which RFC 8259 section 4 says that parsers
    /// disagree.
    package enum RepeatedNames: Hashable, Sendable {
        /// For everything that is signed, or that decides: two parsers could read different things out of one text.
        /// Finding them takes time in the square of an object's members, so ``JSONBounds/maximumValues`` must be low.
        case refused
        /// The last one counts, as in ECMAScript's `JSON.parse`, and all are written again. For texts that others read
        /// too.
        case kept
    }

    /// What ``maximumDepth`` may be: each open container is a bit of one word.
    package static let deepest = UInt64.bitWidth

    /// Of the whole text.
    package let maximumBytes: Int
    /// Nested objects and arrays, including the outermost.
    package let maximumDepth: Int
    /// Values in one text, counting every member and every element.
    package let maximumValues: Int
    /// Characters of a number.
    package let maximumNumberBytes: Int
    package let repeatedNames: RepeatedNames

    /// - Parameter maximumDepth: at most ``deepest``.
    package init(
        maximumBytes: Int, maximumDepth: Int, maximumValues: Int, maximumNumberBytes: Int,
        repeatedNames: RepeatedNames = .refused
    ) {
        precondition(maximumDepth <= Self.deepest)
        (self.maximumBytes, self.maximumDepth) = (maximumBytes, maximumDepth)
        (self.maximumValues, self.maximumNumberBytes) = (maximumValues, maximumNumberBytes)
        self.repeatedNames = repeatedNames
    }
}
