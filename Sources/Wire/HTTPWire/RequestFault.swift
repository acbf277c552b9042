/// Why a request is refused. The end of the request is then uncertain, so the connection must be closed after the
/// response.
package enum RequestFault: Error, Hashable, Sendable, CaseIterable {
    // MARK: Lines (RFC 9112 §2.2)

    case tooManyEmptyLines
    case bareCR
    case bareLF

    // MARK: The request line (RFC 9112 §3)

    /// A byte in the method that isn't allowed in a token. It detects TLS records and other binary data at their first
    /// byte.
    case methodByte
    case methodTooLong
    /// A part is missing or empty, or the separator isn't a single space.
    case requestLineMalformed
    case requestLineTooLong
    /// A byte that isn't allowed in a path (RFC 3986 §3.3), or one in the query that browsers escape: see
    /// ``ByteSet/query``.
    case targetByte
    /// None of the four forms, or a form that the method doesn't allow (RFC 9112 §3.2).
    case targetMalformed
    case versionMalformed
    /// Any version except HTTP/1.0 and HTTP/1.1.
    case versionNotSupported

    // MARK: Fields (RFC 9112 §5, RFC 9110 §5)

    case foldedLine
    case fieldNameEmpty
    case fieldNameByte
    case spaceBeforeColon
    case colonMissing
    /// A control byte in a field value or a chunk extension.
    case controlByte
    case tooManyFields
    case fieldTooLong
    case headerTooLarge
    case trailersTooLarge

    // MARK: Host (RFC 9112 §3.2)

    case hostMissing
    case hostRepeated
    case hostMalformed

    // MARK: Framing (RFC 9112 §6)

    case contentLengthRepeated
    case contentLengthMalformed
    case contentLengthOverflow
    case contentLengthWithTransferEncoding
    case transferEncodingRepeated
    case transferEncodingUnsupported
    case transferEncodingInHTTP10
    /// Never reported by the parser: whether a request needs a body depends on its purpose. See
    /// ``RequestHead/lacksLength``.
    case lengthRequired
    case bodyTooLarge

    // MARK: Chunks (RFC 9112 §7.1)

    case chunkSizeMalformed
    case chunkSizeOverflow
    case chunkLineTooLong
    case chunkExtensionsTooLong
    case chunkEndMissing

    // MARK: Expectations (RFC 9110 §10.1.1)

    case expectationFailed
}

extension RequestFault {
    /// The status of the response.
    package var status: ResponseStatus {
        switch self {
        case .lengthRequired: .lengthRequired
        case .bodyTooLarge: .contentTooLarge
        case .requestLineTooLong: .uriTooLong
        case .expectationFailed: .expectationFailed
        case .tooManyFields, .fieldTooLong, .headerTooLarge, .trailersTooLarge: .requestHeaderFieldsTooLarge
        case .methodTooLong, .transferEncodingUnsupported: .notImplemented
        case .versionNotSupported: .httpVersionNotSupported
        default: .badRequest
        }
    }

    /// For the log, not for the client. It contains nothing that the client sent.
    package var detail: String {
        switch self {
        case .tooManyEmptyLines: "too many empty lines before the request line"
        case .bareCR: "a CR without LF"
        case .bareLF: "an LF without CR"
        case .methodByte: "the method is no token: perhaps not HTTP"
        case .methodTooLong: "the method is too long"
        case .requestLineMalformed: "the request line doesn't have three parts with one space between them"
        case .requestLineTooLong: "the request line is too long"
        case .targetByte: "the request target has a byte that doesn't belong there"
        case .targetMalformed: "the request target has none of the forms that its method allows"
        case .versionMalformed: "the HTTP version is malformed"
        case .versionNotSupported: "the HTTP version is neither 1.0 nor 1.1"
        case .foldedLine: "a field line begins with white space"
        case .fieldNameEmpty: "a field line has no name"
        case .fieldNameByte: "a field name is no token"
        case .spaceBeforeColon: "white space between a field name and its colon"
        case .colonMissing: "a field line has no colon"
        case .controlByte: "a control byte in a field value or a chunk extension"
        case .tooManyFields: "too many fields"
        case .fieldTooLong: "a field line is too long"
        case .headerTooLarge: "the fields together are too large"
        case .trailersTooLarge: "the trailer fields together are too large"
        case .hostMissing: "no Host field"
        case .hostRepeated: "more than one Host field"
        case .hostMalformed: "the Host field is no host with an optional port"
        case .contentLengthRepeated: "more than one Content-Length field"
        case .contentLengthMalformed: "Content-Length is not one decimal number"
        case .contentLengthOverflow: "Content-Length is not within 63 bits"
        case .contentLengthWithTransferEncoding: "both Content-Length and Transfer-Encoding"
        case .transferEncodingRepeated: "more than one Transfer-Encoding field"
        case .transferEncodingUnsupported: "a transfer coding other than chunked alone"
        case .transferEncodingInHTTP10: "Transfer-Encoding in HTTP/1.0"
        case .lengthRequired: "neither Content-Length nor Transfer-Encoding"
        case .bodyTooLarge: "the body is too large"
        case .chunkSizeMalformed: "a chunk size is no hexadecimal number, or something else follows it"
        case .chunkSizeOverflow: "a chunk size is not within 63 bits"
        case .chunkLineTooLong: "the line of a chunk size is too long"
        case .chunkExtensionsTooLong: "the chunk extensions together are too long"
        case .chunkEndMissing: "no CRLF after the data of a chunk"
        case .expectationFailed: "an expectation other than 100-continue"
        }
    }
}
