package import StrictJSON

/// JSON in messages of clients, and inside GMCP from MUDs.
///
/// The caller limits the text's length, and with it the number of values and of digits. Repeated names are kept: the
/// gateway passes such a text on, and must not read it more strictly than the MUD and the client do.
extension JSONReader {
    /// The deepest nesting of containers.
    package static let maximumDepth = 32

    package static func read(_ text: ArraySlice<UInt8>) throws(JSONDefect) -> JSONValue {
        try read(text, within: .message)
    }

    /// Whether ``read(_:)`` would accept `text`. Builds nothing.
    package static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        isValid(text, within: .message)
    }
}

extension JSONBounds {
    /// Of a message, computed, so that no reader of a message waits for a lazy global.
    package static var message: JSONBounds {
        JSONBounds(
            maximumBytes: .max, maximumDepth: JSONReader.maximumDepth, maximumValues: .max, maximumNumberBytes: .max,
            repeatedNames: .kept)
    }
}

extension [UInt8] {
    mutating func append(_ text: String) {
        append(contentsOf: text.utf8)
    }

    mutating func append(decimal value: some FixedWidthInteger) {
        append(contentsOf: String(value).utf8)
    }
}
