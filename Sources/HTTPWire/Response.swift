import WireText

/// One field of a response. Only valid fields can be created, so no text can end its line or add another field (RFC 9110 §5.5).
package struct ResponseField: Hashable, Sendable {
    package let name: String
    package let value: String

    /// - Parameters:
    ///   - name: a token (RFC 9110 §5.1). Connection, Content-Length and Transfer-Encoding are reserved for ``ResponseWriter``.
    ///   - value: no control characters except HTAB, and no white space at either end. May be empty.
    /// - Returns: nil if either is invalid.
    package init?(_ name: String, _ value: String) {
        let tokens = ByteSet.token
        guard !name.isEmpty, name.utf8.allSatisfy(tokens.contains), value.utf8.allSatisfy(Byte.isFieldContent),
            value.utf8.first.map(ASCIIByte.isBlank) != true, value.utf8.last.map(ASCIIByte.isBlank) != true
        else { return nil }
        let span = name.utf8Span.span
        for reserved in Self.reserved where span.equalsIgnoringCase(reserved) { return nil }
        self.name = name
        self.value = value
    }

    private static let reserved = ["connection", "content-length", "transfer-encoding"]

    var isUpgrade: Bool { name.utf8Span.span.equalsIgnoringCase("upgrade") }
}

/// A status and its fields, in order. No field is added automatically: the caller, who has a clock, adds Date.
package struct Response: Hashable, Sendable {
    package let status: ResponseStatus
    /// The field lines, ready to be sent.
    private(set) var lines: [UInt8] = []
    private(set) var hasUpgrade = false
    /// A field or the code was invalid. A 500 without fields is then sent instead.
    package private(set) var isInvalid = false

    package init(_ status: ResponseStatus) { self.status = status }

    /// An invalid code makes the response ``isInvalid``.
    package init(code: Int) {
        status = ResponseStatus(code) ?? .internalServerError
        isInvalid = ResponseStatus(code) == nil
    }

    package mutating func add(_ field: ResponseField) {
        lines += field.name.utf8
        lines += ": ".utf8
        lines += field.value.utf8
        lines += "\r\n".utf8
        hasUpgrade = hasUpgrade || field.isUpgrade
    }

    /// An invalid field makes the response ``isInvalid``.
    package mutating func add(_ name: String, _ value: String) {
        guard let field = ResponseField(name, value) else { return isInvalid = true }
        add(field)
    }
}
