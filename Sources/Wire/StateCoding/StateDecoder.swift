/// Decodes what ``StateEncoder`` has encoded. A value of another kind, and a number out of the range of its type, is a
/// ``StateFault/mismatch``; initialisers may throw errors of their own.
package enum StateDecoder {
    /// - Parameters:
    ///   - userInfo: for initialisers that need more than the bytes.
    ///   - demandsASCII: text with other characters is malformed.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from bytes: [UInt8], userInfo: [CodingUserInfoKey: any Sendable] = [:],
        demandsASCII: Bool = false
    ) throws -> Value {
        try StateDecoding(try StateReader.read(bytes, demandsASCII: demandsASCII), userInfo).value(of: type)
    }
}

private struct StateDecoding: Decoder {
    let content: StateValue
    let information: [CodingUserInfoKey: any Sendable]
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { information }

    init(_ content: StateValue, _ information: [CodingUserInfoKey: any Sendable]) {
        self.content = content
        self.information = information
    }

    func value<Value: Decodable>(of type: Value.Type) throws -> Value {
        guard let leaf = try StateLeaf.read(type, content) else { return try type.init(from: self) }
        guard let value = leaf as? Value else { throw StateFault.mismatch }
        return value
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .map(let members) = content else { throw StateFault.mismatch }
        return KeyedDecodingContainer(KeyedDecoding<Key>(members, information))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let values) = content else { throw StateFault.mismatch }
        return UnkeyedDecoding(values: values, information: information)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { SingleDecoding(decoding: self) }
}

extension StateLeaf {
    /// - Returns: nil for a type with parts.
    static func read(_ type: any Decodable.Type, _ value: StateValue) throws(StateFault) -> (any Decodable)? {
        switch type {
        case is [UInt8].Type:
            guard case .bytes(let bytes) = value else { throw .mismatch }
            return bytes
        case is String.Type:
            guard case .text(let text) = value else { throw .mismatch }
            return text
        case is Bool.Type:
            guard case .bool(let value) = value else { throw .mismatch }
            return value
        case is Double.Type: return try double(value)
        case is Float.Type: return Float(try double(value))
        case let type as any (FixedWidthInteger & Decodable).Type: return try integer(type, value)
        default: return nil
        }
    }

    private static func double(_ value: StateValue) throws(StateFault) -> Double {
        guard case .double(let number) = value else { throw .mismatch }
        return number
    }

    private static func integer<Number: FixedWidthInteger & Decodable>(
        _ type: Number.Type, _ value: StateValue
    ) throws(StateFault) -> any Decodable {
        let number: Number? =
            switch value {
            case .unsigned(let number): Number(exactly: number)
            case .negative(let number) where number <= UInt64(Int64.max): Number(exactly: ~Int64(number))
            default: nil
            }
        guard let number else { throw .mismatch }
        return number
    }
}

private struct SingleDecoding: SingleValueDecodingContainer {
    let decoding: StateDecoding
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { decoding.content == .null }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoding.value(of: type) }
}

private struct UnkeyedDecoding: UnkeyedDecodingContainer {
    let values: [StateValue]
    let information: [CodingUserInfoKey: any Sendable]
    var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    init(values: [StateValue], information: [CodingUserInfoKey: any Sendable]) {
        self.values = values
        self.information = information
    }

    private mutating func next() throws -> StateDecoding {
        guard !isAtEnd else { throw StateFault.mismatch }
        defer { currentIndex += 1 }
        return StateDecoding(values[currentIndex], information)
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd else { throw StateFault.mismatch }
        guard values[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().value(of: type) }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
}

private struct KeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let members: [String: StateValue]
    private let information: [CodingUserInfoKey: any Sendable]
    var codingPath: [any CodingKey] { [] }

    init(_ members: [StateMember], _ information: [CodingUserInfoKey: any Sendable]) {
        self.members = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
        self.information = information
    }

    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ name: String) throws -> StateDecoding {
        guard let value = members[name] else { throw StateFault.mismatch }
        return StateDecoding(value, information)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key.stringValue).content == .null }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key.stringValue).value(of: type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key.stringValue).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key.stringValue).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { try member("super") }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key.stringValue) }
}
