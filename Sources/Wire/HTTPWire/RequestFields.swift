import WireText

/// The fields of a request, in order and as sent. Look names up in lower case; the comparison is case-insensitive.
package struct RequestFields: RandomAccessCollection, Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        /// As sent.
        package let name: ArraySlice<UInt8>
        /// Without surrounding white space. Any bytes except control bytes other than HTAB; not necessarily UTF-8.
        package let value: ArraySlice<UInt8>
    }

    /// The result for a field that must not be repeated, such as a credential.
    package enum Occurrence: Hashable, Sendable {
        case absent
        case one(ArraySlice<UInt8>)
        /// Another server might read any of them, so none is returned.
        case several
    }

    let bytes: [UInt8]
    private let ranges: [FieldRange]

    init(bytes: [UInt8], ranges: [FieldRange]) {
        self.bytes = bytes
        self.ranges = ranges
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { ranges.count }
    package subscript(position: Int) -> Element {
        Element(name: bytes[ranges[position].name], value: bytes[ranges[position].value])
    }

    package func first(_ name: String) -> ArraySlice<UInt8>? {
        ranges.first { isNamed(name, $0) }.map { bytes[$0.value] }
    }

    package func all(_ name: String) -> [ArraySlice<UInt8>] {
        ranges.filter { isNamed(name, $0) }.map { bytes[$0.value] }
    }

    package func count(_ name: String) -> Int { ranges.count { isNamed(name, $0) } }

    package func only(_ name: String) -> Occurrence {
        var value: Range<Int>?
        for field in ranges where isNamed(name, field) {
            guard value == nil else { return .several }
            value = field.value
        }
        return value.map { .one(bytes[$0]) } ?? .absent
    }

    /// The elements of a list (RFC 9110 §5.6.1) in all fields of this name, in order. Empty elements are included;
    /// callers must ignore a reasonable number of them.
    package func members(_ name: String) -> some Sequence<ArraySlice<UInt8>> {
        ranges.lazy.filter { isNamed(name, $0) }.flatMap { ListMembers(bytes[$0.value]) }
    }

    private func isNamed(_ name: String, _ field: FieldRange) -> Bool {
        bytes.span.extracting(field.name).equalsIgnoringCase(name)
    }
}

/// The elements of one field value that is a list (RFC 9110 §5.6.1), without surrounding white space. An empty value
/// has none.
///
/// A comma within a quoted string (§5.6.4) is part of the string. An unmatched quotation mark is an ordinary byte, so
/// it can't hide elements that a proxy appended.
package struct ListMembers: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private var isAtEnd: Bool
    private var hasQuotes = true

    package init(_ value: ArraySlice<UInt8>) {
        rest = value
        isAtEnd = value.isEmpty
    }

    package mutating func next() -> ArraySlice<UInt8>? {
        guard !isAtEnd else { return nil }
        var end = rest.startIndex
        while end < rest.endIndex, rest[end] != UInt8(ascii: ",") {
            end = rest[end] == UInt8(ascii: "\"") ? self.end(ofQuotedStringAt: end) : end + 1
        }
        let member = rest[..<end]
        isAtEnd = end == rest.endIndex
        rest = rest[end...].dropFirst()
        return member.trimmed(where: ASCIIByte.isBlank)
    }

    /// Each value is searched only once for a missing quotation mark.
    private mutating func end(ofQuotedStringAt start: Int) -> Int {
        var index = start + 1
        while hasQuotes, index < rest.endIndex {
            switch rest[index] {
            case UInt8(ascii: "\""): return index + 1
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        hasQuotes = false
        return start + 1
    }
}
