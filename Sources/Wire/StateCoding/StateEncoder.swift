/// Encodes any `Encodable` type as a ``StateValue``. Byte arrays are one value, not a list of numbers.
package enum StateEncoder {
    package static func bytes(of value: some Encodable) throws -> [UInt8] {
        StateWriter.write(try Self.value(of: value))
    }

    static func value(of value: some Encodable) throws -> StateValue {
        let slot = EncodingSlot()
        try slot.put(value)
        return slot.value
    }
}

/// Where an encoded value is put. A class, since containers fill in later what their parent has already placed.
private final class EncodingSlot {
    private enum Content {
        case leaf(StateValue)
        case list([EncodingSlot])
        case map([(name: String, slot: EncodingSlot)])
    }

    private var content = Content.leaf(.null)

    var value: StateValue {
        switch content {
        case .leaf(let value): value
        case .list(let slots): .list(slots.map(\.value))
        case .map(let members): .map(members.map { StateMember($0.name, $0.slot.value) })
        }
    }

    var count: Int { if case .list(let slots) = content { slots.count } else { 0 } }

    func put(_ value: some Encodable) throws {
        if let leaf = StateLeaf.value(of: value) {
            content = .leaf(leaf)
        } else {
            try value.encode(to: StateEncoding(self))
        }
    }

    func putNull() { content = .leaf(.null) }

    func beginList() { if case .list = content {} else { content = .list([]) } }
    func beginMap() { if case .map = content {} else { content = .map([]) } }

    func append() -> EncodingSlot {
        guard case .list(var slots) = content else { return EncodingSlot() }
        content = .leaf(.null)
        let slot = EncodingSlot()
        slots.append(slot)
        content = .list(slots)
        return slot
    }

    func member(_ name: String) -> EncodingSlot {
        guard case .map(var members) = content else { return EncodingSlot() }
        content = .leaf(.null)
        let slot = EncodingSlot()
        members.removeAll { $0.name == name }
        members.append((name, slot))
        content = .map(members)
        return slot
    }
}

/// Values without parts.
enum StateLeaf {
    static func value(of value: some Encodable) -> StateValue? {
        switch value {
        // An empty array of any kind can be cast to any other.
        case let bytes as [UInt8] where type(of: value) == [UInt8].self: .bytes(bytes)
        case let value as String: .text(value)
        case let value as Bool: .bool(value)
        case let value as Double: .double(value)
        case let value as Float: .double(Double(value))
        case let value as any FixedWidthInteger & Encodable: integer(value)
        default: nil
        }
    }

    /// The largest integers have 64 bits.
    private static func integer(_ value: some FixedWidthInteger) -> StateValue? {
        if let number = UInt64(exactly: value) { return .unsigned(number) }
        return Int64(exactly: value).map { .negative(UInt64(bitPattern: ~$0)) }
    }
}

private struct StateEncoding: Encoder {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ slot: EncodingSlot) { self.slot = slot }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.beginMap()
        return KeyedEncodingContainer(KeyedEncoding<Key>(slot: slot))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.beginList()
        return UnkeyedEncoding(slot: slot)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { SingleEncoding(slot: slot) }
}

private struct SingleEncoding: SingleValueEncodingContainer {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { slot.putNull() }
    func encode<Value: Encodable>(_ value: Value) throws { try slot.put(value) }
}

private struct UnkeyedEncoding: UnkeyedEncodingContainer {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }
    var count: Int { slot.count }

    func encodeNil() { slot.append().putNull() }
    func encode<Value: Encodable>(_ value: Value) throws { try slot.append().put(value) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        StateEncoding(slot.append()).container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { StateEncoding(slot.append()).unkeyedContainer() }
    func superEncoder() -> any Encoder { StateEncoding(slot.append()) }
}

private struct KeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let slot: EncodingSlot
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { slot.member(key.stringValue).putNull() }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try slot.member(key.stringValue).put(value)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        StateEncoding(slot.member(key.stringValue)).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        StateEncoding(slot.member(key.stringValue)).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { StateEncoding(slot.member("super")) }
    func superEncoder(forKey key: Key) -> any Encoder { StateEncoding(slot.member(key.stringValue)) }
}
