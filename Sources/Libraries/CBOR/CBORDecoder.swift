/// A strict decoder for the part of RFC 8949 that App Attest and Web Authentication use.
///
/// Strict means that each value has exactly one encoding: lengths are definite and minimal, keys are unique, and there
/// are no trailing bytes. Hostile input costs no more than its own size: an announced length is compared with the
/// remaining bytes before it is used, no memory is reserved for it, and the depth and number of items are limited by
/// the caller's ``CBORBounds``.
package struct CBORDecoder {
    private let input: ArraySlice<UInt8>
    private let bounds: CBORBounds
    private var position: Int
    private var items = 0

    private init(_ input: ArraySlice<UInt8>, _ bounds: CBORBounds) {
        self.input = input
        self.bounds = bounds
        position = input.startIndex
    }

    /// Decodes a single item that fills `bytes` completely.
    package static func decode(
        _ bytes: [UInt8], maximumBytes: Int, within bounds: CBORBounds
    ) throws(CBORFault) -> CBORValue {
        guard bytes.count <= maximumBytes else { throw .tooLarge }
        let (value, rest) = try decodePrefix(of: bytes[...], within: bounds)
        guard rest.isEmpty else { throw .trailingBytes }
        return value
    }

    /// Decodes the item at the start of `bytes` and returns the rest. The caller limits the number of bytes.
    package static func decodePrefix(
        of bytes: ArraySlice<UInt8>, within bounds: CBORBounds
    ) throws(CBORFault) -> (value: CBORValue, rest: ArraySlice<UInt8>) {
        var decoder = CBORDecoder(bytes, bounds)
        let value = try decoder.item(depth: 0)
        return (value, bytes[decoder.position...])
    }

    private var remaining: Int { input.endIndex - position }

    /// Decodes one item. `depth` is the number of containers around it and limits the recursion.
    private mutating func item(depth: Int) throws(CBORFault) -> CBORValue {
        items += 1
        guard items <= bounds.maximumItems else { throw .tooManyItems }
        let initial = try byte()
        let information = initial & 0x1f
        switch initial >> 5 {
        case 0: return .unsigned(try argument(information))
        case 1: return .negative(try argument(information))
        case 2: return .bytes(Array(try string(information)))
        case 3: return .text(try text(information))
        case 4: return .array(try array(information, depth: depth + 1))
        case 5: return .map(try map(information, depth: depth + 1))
        case 7: return try simple(information)
        default: throw .unsupportedType
        }
    }

    private mutating func byte() throws(CBORFault) -> UInt8 {
        guard position < input.endIndex else { throw .truncated }
        defer { position += 1 }
        return input[position]
    }

    /// The number in or after an initial byte (RFC 8949, section 3); only the shortest form is accepted (section
    /// 4.2.1).
    private mutating func argument(_ information: UInt8) throws(CBORFault) -> UInt64 {
        switch information {
        case 0..<24: return UInt64(information)
        case 24: return try wideArgument(bytes: 1, above: 23)
        case 25: return try wideArgument(bytes: 2, above: UInt64(UInt8.max))
        case 26: return try wideArgument(bytes: 4, above: UInt64(UInt16.max))
        case 27: return try wideArgument(bytes: 8, above: UInt64(UInt32.max))
        case 31: throw .indefiniteLength
        default: throw .reservedHead
        }
    }

    private mutating func wideArgument(bytes: Int, above shorter: UInt64) throws(CBORFault) -> UInt64 {
        var value: UInt64 = 0
        for _ in 0..<bytes { value = value << 8 | UInt64(try byte()) }
        guard value > shorter else { throw .nonMinimalHead }
        return value
    }

    /// The length or count of elements that take at least `unit` bytes each. A count that exceeds the remaining input
    /// is refused here, so that no number from the wire sizes an allocation.
    private mutating func count(_ information: UInt8, unit: Int) throws(CBORFault) -> Int {
        let announced = try argument(information)
        guard announced <= UInt64(remaining / unit) else { throw .truncated }
        return Int(announced)
    }

    private mutating func string(_ information: UInt8) throws(CBORFault) -> ArraySlice<UInt8> {
        let length = try count(information, unit: 1)
        defer { position += length }
        return input[position..<position + length]
    }

    private mutating func text(_ information: UInt8) throws(CBORFault) -> String {
        let bytes = try string(information)
        // Whatever isn't UTF-8 is decoded as other bytes. `String(validating:)` needs macOS 15.
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.elementsEqual(bytes) else { throw .invalidUTF8 }
        return text
    }

    private mutating func array(_ information: UInt8, depth: Int) throws(CBORFault) -> [CBORValue] {
        guard depth <= bounds.maximumDepth else { throw .tooDeep }
        var elements: [CBORValue] = []
        for _ in 0..<(try count(information, unit: 1)) { elements.append(try item(depth: depth)) }
        return elements
    }

    private mutating func map(_ information: UInt8, depth: Int) throws(CBORFault) -> CBORMap {
        guard depth <= bounds.maximumDepth else { throw .tooDeep }
        var entries: [CBORMap.Entry] = []
        // Since heads are minimal, two keys are equal exactly if their encodings are equal.
        var encodedKeys: Set<ArraySlice<UInt8>> = []
        for _ in 0..<(try count(information, unit: 2)) {
            let start = position
            let key = try mapKey(depth: depth)
            guard encodedKeys.insert(input[start..<position]).inserted else { throw .duplicateKey }
            entries.append(CBORMap.Entry(key: key, value: try item(depth: depth)))
        }
        return CBORMap(entries: entries)
    }

    private mutating func mapKey(depth: Int) throws(CBORFault) -> CBORValue {
        let key = try item(depth: depth)
        switch key {
        case .text, .unsigned, .negative: return key
        default: throw .unsupportedKey
        }
    }

    private func simple(_ information: UInt8) throws(CBORFault) -> CBORValue {
        switch information {
        case 20: .boolean(false)
        case 21: .boolean(true)
        case 22: .null
        case 28...30: throw .reservedHead
        case 31: throw .indefiniteLength
        default: throw .unsupportedType
        }
    }
}
