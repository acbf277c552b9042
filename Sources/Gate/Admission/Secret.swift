/// Bytes that must be compared in constant time, and never printed or logged: there is no `==`, and every description
/// is the same.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Compares in constant time, wherever the bytes differ. The lengths aren't secret.
    package func matches(_ candidate: some Collection<UInt8>) -> Bool {
        guard candidate.count == bytes.count else { return false }
        let difference = zip(bytes, candidate).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
        return difference == 0
    }

    func matches(_ other: Secret) -> Bool { matches(other.bytes) }

    /// For the process that replaces this one, and for nobody else.
    var carried: [UInt8] { bytes }

    package var description: String { "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode([UInt8].self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(carried)
    }
}
