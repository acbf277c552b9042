/// A name of a fixed number of bytes: so a store has it. Everything else has its text.
package protocol NamedBytes: Hashable, Sendable, Comparable, Codable {
    static var length: Int { get }

    var bytes: [UInt8] { get }
    /// Each name has one spelling.
    var text: String { get }

    /// - Returns: nil for any other number of bytes than ``length``.
    init?(bytes: [UInt8])

    /// - Returns: nil for what isn't a spelling.
    init?(text: String)
}

extension NamedBytes {
    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }

    /// It crosses to the process that replaces this one as its text.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let name = Self(text: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a \(Self.self)")
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
