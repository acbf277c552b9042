/// Why a text isn't the JSON object that was expected. Offsets count bytes from the beginning of the text.
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
    /// One object has two members with the same name.
    case duplicateMember(at: Int)
    /// JSON, but not an object.
    case notAnObject
}

/// What a text may cost the reader. Every caller has its own.
package struct JSONBounds: Hashable, Sendable {
    /// Of the whole text.
    package let maximumBytes: Int
    /// Nested objects and arrays, including the outermost.
    package let maximumDepth: Int
    /// Values in one text, counting every member and every element.
    package let maximumValues: Int
    /// Characters of a number.
    package let maximumNumberBytes: Int

    package init(maximumBytes: Int, maximumDepth: Int, maximumValues: Int, maximumNumberBytes: Int) {
        (self.maximumBytes, self.maximumDepth) = (maximumBytes, maximumDepth)
        (self.maximumValues, self.maximumNumberBytes) = (maximumValues, maximumNumberBytes)
    }
}
