import WireText

/// One field of a response. Only valid fields can be created, so no text can end its line or add another field (RFC
/// 9110 §5.5).
package struct ResponseField: Hashable, Sendable {
    package let name: String
    package let value: String

    /// - Parameters:
    ///   - name: a token (RFC 9110 §5.1). Connection, Content-Length and Transfer-Encoding are reserved for
    ///     ``ResponseWriter``.
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

/// A status code (RFC 9110 §15).
package struct ResponseStatus: Hashable, Sendable {
    package let code: Int

    /// Three digits, the first of which is the class, 1 to 5; otherwise nil.
    package init?(_ code: Int) {
        guard (100...599).contains(code) else { return nil }
        self.code = code
    }

    private init(known code: Int) { self.code = code }

    /// More responses to the same request follow, except after 101 (RFC 9110 §15.2).
    package var isInterim: Bool { code < 200 && self != .switchingProtocols }

    /// RFC 9110 §6.4.1 and §15.3.6: these statuses never have content.
    var forbidsContent: Bool { code < 200 || [204, 205, 304].contains(code) }

    /// RFC 9110 §8.6: 1xx and 204 must not have Content-Length. A 304 would have the length of the 200, which isn't
    /// known here. A 205 has zero.
    var forbidsContentLength: Bool { code < 200 || code == 204 || code == 304 }

    package static let `continue` = Self(known: 100)
    package static let switchingProtocols = Self(known: 101)
    package static let ok = Self(known: 200)
    package static let noContent = Self(known: 204)
    package static let resetContent = Self(known: 205)
    package static let notModified = Self(known: 304)
    package static let badRequest = Self(known: 400)
    package static let forbidden = Self(known: 403)
    package static let notFound = Self(known: 404)
    package static let methodNotAllowed = Self(known: 405)
    package static let lengthRequired = Self(known: 411)
    package static let contentTooLarge = Self(known: 413)
    package static let uriTooLong = Self(known: 414)
    package static let expectationFailed = Self(known: 417)
    package static let upgradeRequired = Self(known: 426)
    package static let requestHeaderFieldsTooLarge = Self(known: 431)
    package static let internalServerError = Self(known: 500)
    package static let notImplemented = Self(known: 501)
    package static let serviceUnavailable = Self(known: 503)
    package static let httpVersionNotSupported = Self(known: 505)

    /// Empty for an unknown code, as RFC 9112 §4 allows.
    package var reasonPhrase: String { Self.reasonPhrases[code] ?? "" }

    /// RFC 9110 §15, and RFC 6585 for 428, 429, 431 and 511.
    static let reasonPhrases: [Int: String] = [
        100: "Continue", 101: "Switching Protocols",
        200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content",
        205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
        305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
        400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 406: "Not Acceptable", 407: "Proxy Authentication Required",
        408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 426: "Upgrade Required",
        428: "Precondition Required", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
        504: "Gateway Timeout", 505: "HTTP Version Not Supported", 511: "Network Authentication Required",
    ]
}
