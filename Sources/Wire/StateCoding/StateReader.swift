import WireText

/// Reads what ``StateWriter`` writes, and nothing else: each value has one form.
package struct StateReader {
    private var rest: ArraySlice<UInt8>
    private var valuesLeft = StateLimits.maximumValues
    private let demandsASCII: Bool

    private init(_ bytes: [UInt8], demandsASCII: Bool) {
        rest = bytes[...]
        self.demandsASCII = demandsASCII
    }

    /// - Parameters:
    ///   - bytes: one value, and nothing behind it.
    ///   - demandsASCII: other text is malformed. Comparing it as `String` may take quadratic time.
    package static func read(_ bytes: [UInt8], demandsASCII: Bool = false) throws(StateFault) -> StateValue {
        var reader = StateReader(bytes, demandsASCII: demandsASCII)
        let value = try reader.value(depth: 0)
        guard reader.rest.isEmpty else { throw .length }
        return value
    }

    private mutating func value(depth: Int) throws(StateFault) -> StateValue {
        guard valuesLeft > 0 else { throw .limit }
        valuesLeft -= 1
        guard let first = rest.popFirst() else { throw .length }
        guard let kind = StateKind(rawValue: first) else { throw .malformed }
        switch kind {
        case .null: return .null
        case .false: return .bool(false)
        case .true: return .bool(true)
        case .unsigned: return .unsigned(try number())
        case .negative: return .negative(try number())
        case .double: return .double(Double(bitPattern: try take(8).reduce(0) { $0 << 8 | UInt64($1) }))
        case .text: return .text(try text(try count()))
        case .bytes: return .bytes(Array(try take(try count())))
        case .list, .map:
            guard depth < StateLimits.maximumDepth else { throw .limit }
            return kind == .list ? try list(depth: depth + 1) : try map(depth: depth + 1)
        }
    }

    private mutating func list(depth: Int) throws(StateFault) -> StateValue {
        let count = try count()
        var values: [StateValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try value(depth: depth)) }
        return .list(values)
    }

    private mutating func map(depth: Int) throws(StateFault) -> StateValue {
        let count = try count()
        var members: [StateMember] = []
        var names: Set<String> = []
        members.reserveCapacity(count)
        for _ in 0..<count {
            let size = try self.count()
            guard size <= StateLimits.maximumNameBytes else { throw .limit }
            let name = try text(size)
            // Equal texts may have different bytes: then both count as one name.
            guard names.insert(name).inserted else { throw .malformed }
            members.append(StateMember(name, try value(depth: depth)))
        }
        return .map(members)
    }

    /// A number of bytes or values: each takes a byte at least, so it can't be larger than what is left.
    private mutating func count() throws(StateFault) -> Int {
        let number = try number()
        guard number <= UInt64(rest.count) else { throw .length }
        return Int(number)
    }

    private mutating func number() throws(StateFault) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            guard let byte = rest.popFirst() else { throw .length }
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || bits <= 1 else { throw .malformed }
            number |= bits << shift
            guard byte & 0x80 == 0 else { continue }
            guard byte != 0 || shift == 0 else { throw .malformed }
            return number
        }
        throw .malformed
    }

    private mutating func text(_ count: Int) throws(StateFault) -> String {
        let bytes = try take(count)
        guard demandsASCII ? bytes.allSatisfy({ $0 < 0x80 }) : bytes.isValidUTF8 else { throw .malformed }
        return String(decoding: bytes, as: UTF8.self)
    }

    private mutating func take(_ count: Int) throws(StateFault) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .length }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
