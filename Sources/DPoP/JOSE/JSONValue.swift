/// A JSON value (RFC 8259). Numbers keep the text that they were written with.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }

    /// Seconds since 1970, perhaps with a fraction (RFC 7519 section 2).
    var numericDate: Double? {
        guard case .number(let text) = self, let seconds = Double(text),
            abs(seconds) <= JOSELimits.maximumNumericDate
        else { return nil }
        return seconds
    }
}

/// The members of a JSON object, no two with the same name.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue
    }

    package private(set) var members: [Member] = []

    package subscript(name: String) -> JSONValue? { members.first { $0.name.hasSameBytes(as: name) }?.value }

    /// - Returns: false if the name is taken.
    mutating func add(_ name: String, _ value: JSONValue) -> Bool {
        guard self[name] == nil else { return false }
        members.append(Member(name: name, value: value))
        return true
    }
}

extension String {
    /// RFC 7515 section 5.3 compares code points. Swift's `==` compares canonical equivalents, so it takes a Kelvin sign for a K.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
