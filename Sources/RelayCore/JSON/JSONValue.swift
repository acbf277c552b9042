/// A JSON value (RFC 8259).
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits into an `Int`; exact.
    case integer(Int)
    /// Any other number, as it was written: the gateway doesn't compute with it, so it passes through without loss.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// The members of an object in their original order.
///
/// If several members have the same name, the last one counts, as in ECMAScript's `JSON.parse`; all of them are kept and written
/// again. Names are equal if their bytes are equal: Swift's own `==` would also treat two encodings of one character as equal.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var members: [Member]

    package init(_ members: [Member] = []) {
        self.members = members
    }

    package mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name, value))
    }

    package subscript(name: String) -> JSONValue? {
        members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}
