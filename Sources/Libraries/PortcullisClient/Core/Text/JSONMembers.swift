/// The members of one JSON object (RFC 8259), read from a peer's bytes within bounds.
///
/// Only the outermost members become values. What is nested in them is checked and kept as a range of the bytes, so
/// that neither memory nor the stack grows with a peer's structure.
struct JSONMembers {
    enum Fault: Error, Sendable {
        case malformed
        case tooLong
        case tooDeep
        case tooManyMembers
    }

    /// How deep arrays and objects may be nested.
    static let maximumDepth = 32
    static let maximumMembers = 256

    enum Value: Sendable {
        case null
        case boolean(Bool)
        case integer(Int64)
        /// With a fraction or an exponent, or beyond 64 bits.
        case number
        case string(String)
        /// An array or an object.
        case nested
    }

    private struct Member {
        let name: String
        let value: Value
        let range: Range<Int>
    }

    let bytes: [UInt8]
    private let members: [Member]

    /// - Parameter maximumBytes: more is refused unread.
    init(_ bytes: [UInt8], maximumBytes: Int) throws(Fault) {
        guard bytes.count <= maximumBytes else { throw .tooLong }
        // What isn't UTF-8 would have been replaced.
        guard String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes) else { throw .malformed }
        self.bytes = bytes
        var cursor = JSONCursor(bytes)
        var members: [Member] = []
        cursor.skipSpace()
        try cursor.expect(UInt8(ascii: "{"))
        cursor.skipSpace()
        if cursor.take(UInt8(ascii: "}")) == false {
            repeat {
                guard members.count < Self.maximumMembers else { throw .tooManyMembers }
                cursor.skipSpace()
                let name = try cursor.string()
                cursor.skipSpace()
                try cursor.expect(UInt8(ascii: ":"))
                cursor.skipSpace()
                let start = cursor.position
                let value = try cursor.value(maximumDepth: Self.maximumDepth)
                members.append(Member(name: name, value: value, range: start..<cursor.position))
                cursor.skipSpace()
            } while cursor.take(UInt8(ascii: ","))
            try cursor.expect(UInt8(ascii: "}"))
        }
        cursor.skipSpace()
        guard cursor.isAtEnd else { throw .malformed }
        self.members = members
    }

    var count: Int { members.count }

    /// The last of several members with this name.
    subscript(name: StaticString) -> Value? { member(name)?.value }

    private func member(_ name: StaticString) -> Member? {
        name.withUTF8Buffer { name in members.last { $0.name.utf8.elementsEqual(name) } }
    }

    func string(_ name: StaticString) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    func integer(_ name: StaticString) -> Int64? {
        if case .integer(let number) = self[name] { number } else { nil }
    }

    func boolean(_ name: StaticString) -> Bool? {
        if case .boolean(let value) = self[name] { value } else { nil }
    }

    /// The text of a member's value as it was received.
    func raw(_ name: StaticString) -> ArraySlice<UInt8>? { member(name).map { bytes[$0.range] } }

    /// The members of a nested object; nil if there is no such member, or if it is something else.
    func object(_ name: StaticString) -> JSONMembers? {
        raw(name).flatMap { try? JSONMembers(Array($0), maximumBytes: $0.count) }
    }

    /// The objects of a nested array; nil if it has anything else, or more than `limit`.
    func objects(_ name: StaticString, atMost limit: Int) -> [JSONMembers]? {
        guard let raw = raw(name).map(Array.init) else { return nil }
        var cursor = JSONCursor(raw)
        guard let ranges = try? cursor.elements(atMost: limit) else { return nil }
        let objects = ranges.compactMap { try? JSONMembers(Array(raw[$0]), maximumBytes: raw.count) }
        return objects.count == ranges.count ? objects : nil
    }

    /// The bytes of a member in base64url; nil if there are less or more of them.
    func bytes(_ name: StaticString, _ counts: ClosedRange<Int>) -> [UInt8]? {
        guard let text = string(name), text.utf8.count <= counts.upperBound * 2 else { return nil }
        return BinaryText.bytes(base64: text.utf8).flatMap { counts.contains($0.count) ? $0 : nil }
    }

    /// The strings of a nested array; empty if it is something else.
    func strings(_ name: StaticString, atMost limit: Int) -> [String] {
        guard let raw = raw(name) else { return [] }
        var cursor = JSONCursor(Array(raw))
        return (try? cursor.strings(atMost: limit)) ?? []
    }
}
