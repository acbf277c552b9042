/// A JSON value (RFC 8259). Numbers keep the text that they were written with. Its texts are a peer's, and compared as bytes.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package var isNull: Bool {
        if case .null = self { true } else { false }
    }

    package var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    package var object: JSONObject? {
        guard case .object(let object) = self else { return nil }
        return object
    }
}

/// The members of a JSON object, no two with the same name.
package struct JSONObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package static func == (one: Member, other: Member) -> Bool {
            one.name.utf8.elementsEqual(other.name.utf8) && one.value == other.value
        }
    }

    package private(set) var members: [Member] = []

    package init() {}

    package subscript(name: String) -> JSONValue? {
        members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// - Returns: false if the name is taken.
    mutating func add(_ name: String, _ value: JSONValue) -> Bool {
        guard self[name] == nil else { return false }
        members.append(Member(name: name, value: value))
        return true
    }
}

extension JSONValue: Equatable {
    package static func == (one: JSONValue, other: JSONValue) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)), (.string(let one), .string(let other)):
            one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}
