/// A value in the form in which the state of a gateway crosses to its successor: a tree of few kinds, like CBOR's.
package indirect enum StateValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case unsigned(UInt64)
    /// Below zero: the number is -1 minus this.
    case negative(UInt64)
    case double(Double)
    case text(String)
    case bytes([UInt8])
    case list([StateValue])
    case map([StateMember])
}

/// One member of a map: names are unique in it.
package struct StateMember: Hashable, Sendable {
    package let name: String
    package let value: StateValue

    package init(_ name: String, _ value: StateValue) {
        self.name = name
        self.value = value
    }
}

/// What the reader of a value accepts. The peer is a gateway of the same operator; the limits bound what a damaged
/// record can cost.
package enum StateLimits {
    /// Lists and maps in each other.
    package static let maximumDepth = 32
    /// Values in one record, the names of members not counted.
    package static let maximumValues = 1_000_000
    /// Of a member's name.
    package static let maximumNameBytes = 128
}

/// Why bytes aren't a state, or not one of the type that was expected.
package enum StateFault: Error, Hashable, Sendable {
    /// The bytes end inside a value, or go on behind it.
    case length
    /// There is no such kind, a number isn't in its shortest form, a text isn't UTF-8, or a name is repeated.
    case malformed
    /// Above one of ``StateLimits``.
    case limit
    /// A member is missing, or has another kind, or is out of range.
    case mismatch
}
