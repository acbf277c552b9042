/// What makes a text no JSON, or more than we read. Offsets are in bytes from the text's beginning.
package enum JSONError: Error, Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(at: Int)
    /// A control character, an escape that doesn't exist, half a surrogate pair, or bytes that aren't UTF-8.
    case malformedString(at: Int)
    case malformedNumber(at: Int)
    /// Nested deeper than ``JSONReader/maximumDepth``.
    case tooDeep
}
