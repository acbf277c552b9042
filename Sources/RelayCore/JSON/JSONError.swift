/// Why a text isn't JSON or exceeds the reader's limits. Offsets are in bytes from the text's beginning.
package enum JSONError: Error, Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(at: Int)
    /// A control character, an unknown escape, half a surrogate pair, or bytes that aren't UTF-8.
    case malformedString(at: Int)
    case malformedNumber(at: Int)
    /// Nested deeper than ``JSONReader/maximumDepth``.
    case tooDeep
}
