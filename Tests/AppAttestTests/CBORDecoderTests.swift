import AppAttest
import CBOR
import DeviceSimulation
import Testing

@Suite("Strict CBOR")
struct CBORDecoderTests {
    private func decode(_ bytes: [UInt8], maximumBytes: Int = .max) throws(CBORError) -> CBORValue {
        try CBORDecoder.decode(bytes, maximumBytes: maximumBytes)
    }

    private func decodeMap(_ bytes: [UInt8]) throws -> CBORMap {
        let value = try decode(bytes)
        guard case .map(let map) = value else { throw CBORError.unsupportedType }
        return map
    }

    /// One item of every kind, with arguments at the boundaries of every width.
    static let items: [CBORItem] =
        [0, 23, 24, 255, 256, 65535, 65536, 0xffff_ffff, 0x1_0000_0000, .max].flatMap { (number: UInt64) in
            [CBORItem.unsigned(number), .negative(number)]
        } + [
            .bytes([]), .bytes([1, 2, 3]), .bytes([UInt8](repeating: 7, count: 300)), .text(""), .text("é 🜁"),
            .array([]), .array([.unsigned(1), .array([.null])]), .map([]), .boolean(true), .boolean(false), .null,
            .map([(.text("a"), .bytes([9])), (.unsigned(24), .map([(.negative(0), .text("b"))]))]),
        ]

    @Test(arguments: items.indices)
    func `the shortest form is read, and no other`(index: Int) throws {
        let encoded = Self.items[index].encoded
        #expect(CBORItem(try decode(encoded)).encoded == encoded)
    }

    @Test(arguments: items.indices)
    func `no proper prefix of an item is an item`(index: Int) {
        let encoded = Self.items[index].encoded
        for length in 0..<encoded.count {
            #expect(throws: CBORError.truncated) { try decode(Array(encoded.prefix(length))) }
        }
        #expect(throws: CBORError.trailingBytes) { try decode(encoded + [0]) }
    }

    @Test func `known encodings of RFC 8949, appendix A, have their values`() throws {
        #expect(try decode([0x19, 0x03, 0xe8]) == .unsigned(1000))
        #expect(try decode([0x1b] + [UInt8](repeating: 0xff, count: 8)) == .unsigned(.max))
        #expect(try decode([0x39, 0x03, 0xe7]) == .negative(999))
        #expect(try decode([0x44, 1, 2, 3, 4]) == .bytes([1, 2, 3, 4]))
        #expect(try decode([0x62, 0x22, 0x5c]) == .text("\"\\"))
        #expect(try decode([0x63, 0xe6, 0xb0, 0xb4]) == .text("\u{6c34}"))
        let map = try decodeMap([0xa2, 0x61, 0x61, 1, 0x61, 0x62, 0x82, 2, 3])
        #expect(map.entries.count == 2)
        #expect(map["a"] == .unsigned(1))
        #expect(map["b"] == .array([.unsigned(2), .unsigned(3)]))
    }

    @Test func `a head that could be shorter is refused, for every type that has a number`() {
        for major in [0, 1, 2, 3, 4, 5] as [UInt8] {
            for (argument, width) in [(0, 1), (23, 1), (24, 2), (255, 2), (256, 4), (65535, 4), (65536, 8)] {
                let bytes = CBORItem.head(major, UInt64(argument), width: width)
                #expect(throws: CBORError.nonMinimalHead) { try decode(bytes) }
            }
        }
    }

    @Test func `indefinite lengths, breaks and reserved heads are refused`() {
        for major in 0...7 as ClosedRange<UInt8> where major != 6 {
            #expect(throws: CBORError.indefiniteLength) { try decode([major << 5 | 31]) }
            for information in 28...30 as ClosedRange<UInt8> {
                #expect(throws: CBORError.reservedHead) { try decode([major << 5 | information]) }
            }
        }
    }

    @Test func `tags, floating point and other simple values are refused`() {
        for bytes in [[0xc0, 0x60], [0xd8, 0x18, 0x00], [0xe0], [0xf7], [0xf8, 0xff], [0xf9, 0, 0], [0xfb]] {
            #expect(throws: CBORError.unsupportedType) { try decode(bytes.map { UInt8($0) }) }
        }
    }

    @Test func `keys are unique, also of different types, and texts or integers`() throws {
        #expect(throws: CBORError.duplicateKey) { try decode([0xa2, 0x01, 0, 0x01, 0]) }
        #expect(throws: CBORError.duplicateKey) { try decode([0xa2, 0x61, 0x61, 0, 0x61, 0x61, 0]) }
        #expect(throws: CBORError.duplicateKey) { try decode([0xa1, 0x00, 0xa2, 0x20, 0, 0x20, 0]) }
        // 0 and -1, and a character in its composed and decomposed form, are different keys.
        _ = try decode([0xa2, 0x00, 0, 0x20, 0])
        _ = try decode([0xa2, 0x62, 0xc3, 0xa9, 0, 0x63, 0x65, 0xcc, 0x81, 0])
        for key in [[0x40], [0x80], [0xa0], [0xf5], [0xf6]] as [[UInt8]] {
            #expect(throws: CBORError.unsupportedKey) { try decode([0xa1] + key + [0]) }
        }
    }

    @Test func `a key is found by its bytes, not by canonical equivalence`() throws {
        // U+212A KELVIN SIGN is canonically equivalent to K.
        let map = try decodeMap([0xa1, 0x63, 0xe2, 0x84, 0xaa, 0x01])
        #expect(map["K"] == nil)
        #expect(map["\u{212a}"] == .unsigned(1))
        #expect(map.hasOnly("K") == false)
    }

    @Test func `texts are UTF-8: no lone surrogates, overlong forms or stray bytes`() {
        for text in [[0x80], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff]] as [[UInt8]] {
            #expect(throws: CBORError.invalidUTF8) { try decode(CBORItem.head(3, UInt64(text.count)) + text) }
        }
    }

    @Test func `input above the size limit is refused before it is read`() throws {
        for limit in [CBORLimits.maximumAttestationBytes, CBORLimits.maximumAssertionBytes] {
            let atLimit = CBORItem.bytes([UInt8](repeating: 0, count: limit - 3)).encoded
            #expect(atLimit.count == limit)
            _ = try decode(atLimit, maximumBytes: limit)
            #expect(throws: CBORError.tooLarge) { try decode(atLimit + [0], maximumBytes: limit) }
        }
    }

    @Test func `the size limits are those of attestations and assertions`() {
        func object(_ size: Int) -> [UInt8] { CBORItem.bytes([UInt8](repeating: 0, count: size - 3)).encoded }
        #expect(throws: AttestationError.notAMap) { try AttestationObject(object(CBORLimits.maximumAttestationBytes)) }
        #expect(throws: AttestationError.malformedObject(.tooLarge)) {
            try AttestationObject(object(CBORLimits.maximumAttestationBytes + 1))
        }
        #expect(throws: AssertionError.notAMap) { try AssertionObject(object(CBORLimits.maximumAssertionBytes)) }
        #expect(throws: AssertionError.malformedObject(.tooLarge)) {
            try AssertionObject(object(CBORLimits.maximumAssertionBytes + 1))
        }
    }

    @Test func `the depth limit applies to arrays and maps`() throws {
        for opening in [[0x81], [0xa1, 0x00]] as [[UInt8]] {
            func nested(_ depth: Int) -> [UInt8] { (0..<depth).flatMap { _ in opening } + [0x00] }
            _ = try decode(nested(CBORLimits.maximumDepth))
            #expect(throws: CBORError.tooDeep) { try decode(nested(CBORLimits.maximumDepth + 1)) }
            #expect(throws: CBORError.tooDeep) { try decode(nested(5000)) }
        }
    }

    @Test func `the limit of items counts keys and containers`() throws {
        func array(_ count: Int) -> CBORItem { .array([CBORItem](repeating: .null, count: count)) }
        _ = try decode(array(CBORLimits.maximumItems - 1).encoded)
        #expect(throws: CBORError.tooManyItems) { try decode(array(CBORLimits.maximumItems).encoded) }
        let entries = (0..<UInt64(CBORLimits.maximumItems / 2)).map { (CBORItem.unsigned($0), CBORItem.null) }
        _ = try decode(CBORItem.map(entries.dropLast()).encoded)
        #expect(throws: CBORError.tooManyItems) { try decode(CBORItem.map(entries).encoded) }
    }

    @Test func `an announced length is first compared with the remaining bytes, at every width`() {
        // These lengths must not size an allocation: the last exceeds Int, the one before exceeds memory.
        for length in [16 * 1024 * 1024, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, .max] as [UInt64] {
            for major in [2, 3, 4, 5] as [UInt8] {
                let bytes = CBORItem.head(major, length) + [UInt8](repeating: 0, count: 11)
                #expect(throws: CBORError.truncated) { try decode(bytes) }
            }
        }
        // One more element than bytes, and one more entry than pairs of bytes.
        #expect(throws: CBORError.truncated) { try decode([0x83, 0, 0]) }
        #expect(throws: CBORError.truncated) { try decode([0xa2, 0, 0, 1]) }
    }

    @Test func `a prefix is decoded and the remaining bytes are returned`() throws {
        let bytes: [UInt8] = [0xff, 0x82, 0x01, 0x41, 0x09, 0xaa, 0xbb]
        let (value, rest) = try CBORDecoder.decodePrefix(of: bytes[1...])
        #expect(value == .array([.unsigned(1), .bytes([9])]))
        #expect(Array(rest) == [0xaa, 0xbb])
    }
}

extension CBORItem {
    /// Converts a decoded value, so that it can be encoded again.
    init(_ value: CBORValue) {
        switch value {
        case .unsigned(let number): self = .unsigned(number)
        case .negative(let argument): self = .negative(argument)
        case .bytes(let bytes): self = .bytes(bytes)
        case .text(let text): self = .text(text)
        case .array(let values): self = .array(values.map(CBORItem.init))
        case .map(let map): self = .map(map.entries.map { (CBORItem($0.key), CBORItem($0.value)) })
        case .boolean(let value): self = .boolean(value)
        case .null: self = .null
        }
    }
}
