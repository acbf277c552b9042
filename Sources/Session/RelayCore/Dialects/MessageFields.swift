import StrictJSON

/// The fields of a client's message, each checked when it is read: the first invalid field that is read is reported.
///
/// The error texts are those of the typed protocol. An optional field may also be `null`.
struct MessageFields {
    private let object: JSONObject

    init(_ object: JSONObject) {
        self.object = object
    }

    func optional(_ name: String) -> JSONValue? {
        object[name].flatMap { $0.isNull ? nil : $0 }
    }

    /// A string that isn't empty or blank.
    func text(_ name: String) throws(DialectError) -> String {
        guard case .string(let text) = object[name], !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) else {
            throw DialectError(.invalidRequest, field: name, "\(name) must be a non-empty string")
        }
        return text
    }

    func optionalText(_ name: String) throws(DialectError) -> String? {
        optional(name) == nil ? nil : try text(name)
    }

    /// A string that may be empty.
    func string(_ name: String) throws(DialectError) -> String {
        guard case .string(let text) = object[name] else {
            throw DialectError(.invalidRequest, field: name, "\(name) must be a string")
        }
        return text
    }

    /// A port, or a width or height in characters.
    func positive(_ name: String) throws(DialectError) -> UInt16 {
        guard let value = object[name]?.exactInteger, let number = UInt16(exactly: value), number > 0 else {
            throw DialectError(.invalidRequest, field: name, "\(name) must be an integer between 1 and 65535")
        }
        return number
    }

    func optionalPositive(_ name: String) throws(DialectError) -> UInt16? {
        optional(name) == nil ? nil : try positive(name)
    }

    func count(_ name: String) throws(DialectError) -> UInt64 {
        guard let value = object[name]?.exactInteger, value >= 0 else {
            throw DialectError(.invalidRequest, field: name, "\(name) must be a non-negative integer")
        }
        return UInt64(value)
    }

    /// An integer from 1.
    func optionalOrdinal(_ name: String) throws(DialectError) -> UInt64? {
        guard let field = optional(name) else { return nil }
        guard let value = field.exactInteger, value > 0 else {
            throw DialectError(.invalidRequest, field: name, "\(name) must be a positive integer")
        }
        return UInt64(value)
    }

    func size(columns: String, rows: String) throws(DialectError) -> ClientCommand {
        .resize(columns: try positive(columns), rows: try positive(rows))
    }
}

extension JSONValue {
    /// Also accepts `80.0` and `8e1`, which are integers in ECMAScript, where all numbers are doubles.
    var exactInteger: Int? {
        switch self {
        case .integer(let value): return value
        case .number(let text):
            guard text.utf8.count <= 32, let double = Double(text), double.magnitude < 0x1p53 else { return nil }
            let integer = Int(double)
            return Double(integer) == double ? integer : nil
        default: return nil
        }
    }
}
