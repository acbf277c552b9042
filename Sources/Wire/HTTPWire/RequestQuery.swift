import WireText

/// A query as parameters, in the format of HTML forms: `name=value` pairs separated by `&`, with `+` for a space and
/// percent escapes (RFC 3986 §2.1). It is decoded on access.
package struct RequestQuery: Hashable, Sendable {
    package enum Parameter: Sendable {
        case absent
        case value(String)
        /// The parameter is repeated, longer than ``RequestQuery/maximumValueBytes``, not UTF-8, or contains a
        /// malformed escape or a control character; or any name has a malformed escape, or there are more than
        /// ``RequestQuery/maximumParameters``. If it is repeated, another server might read either value, so none is
        /// returned.
        case malformed
    }

    package static let maximumParameters = 16
    /// The size after decoding.
    package static let maximumValueBytes = 4_096

    private let bytes: ArraySlice<UInt8>

    /// - Parameter bytes: without the question mark, as sent; nil means no parameters.
    package init(_ bytes: ArraySlice<UInt8>?) { self.bytes = bytes ?? [] }

    /// - Parameter name: decoded; it is compared byte by byte.
    package subscript(name: String) -> Parameter {
        var parameters = 0
        var match: Range<Int>?
        var isMalformed = false
        var start = bytes.startIndex
        while start < bytes.endIndex {
            let end = self.end(of: UInt8(ascii: "&"), in: start..<bytes.endIndex)
            let nameEnd = self.end(of: UInt8(ascii: "="), in: start..<end)
            parameters += 1
            switch isName(name, start..<nameEnd) {
            case nil: isMalformed = true
            case true? where start < end:
                isMalformed = isMalformed || match != nil
                match = min(nameEnd + 1, end)..<end
            default: break
            }
            guard !isMalformed, parameters <= Self.maximumParameters else { return .malformed }
            start = end + 1
        }
        guard let match else { return .absent }
        return value(match).map(Parameter.value) ?? .malformed
    }

    private func end(of separator: UInt8, in range: Range<Int>) -> Int {
        bytes[range].firstIndex(of: separator) ?? range.upperBound
    }

    /// - Returns: nil if an escape is malformed.
    private func isName(_ name: String, _ range: Range<Int>) -> Bool? {
        let expected = name.utf8Span.span
        var decoder = FormDecoder(bytes[range])
        var count = 0
        var isEqual = true
        while let byte = decoder.next() {
            isEqual = isEqual && count < expected.count && expected[count] == byte
            count += 1
        }
        return decoder.isMalformed ? nil : isEqual && count == expected.count
    }

    private func value(_ range: Range<Int>) -> String? {
        var decoder = FormDecoder(bytes[range])
        var value: [UInt8] = []
        while let byte = decoder.next() {
            guard value.count < Self.maximumValueBytes, byte >= 0x20, byte != 0x7F else { return nil }
            value.append(byte)
        }
        return decoder.isMalformed ? nil : String(validating: value, as: UTF8.self)
    }
}

extension RequestQuery.Parameter: Equatable {
    package static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.absent, .absent), (.malformed, .malformed): true
        case (.value(let one), .value(let other)): one.hasSameBytes(as: other)
        default: false
        }
    }
}

/// Decodes percent escapes and plus signs, byte by byte.
private struct FormDecoder {
    private let bytes: ArraySlice<UInt8>
    private var index: Int
    private(set) var isMalformed = false

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        index = bytes.startIndex
    }

    mutating func next() -> UInt8? {
        guard !isMalformed, index < bytes.endIndex else { return nil }
        let byte = bytes[index]
        index += 1
        switch byte {
        case UInt8(ascii: "+"): return Byte.space
        case UInt8(ascii: "%"): return escaped()
        default: return byte
        }
    }

    private mutating func escaped() -> UInt8? {
        guard index + 1 < bytes.endIndex, let high = Hexadecimal.value(of: bytes[index]),
            let low = Hexadecimal.value(of: bytes[index + 1])
        else {
            isMalformed = true
            return nil
        }
        index += 2
        return high << 4 | low
    }
}
