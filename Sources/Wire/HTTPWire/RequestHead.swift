/// The supported versions (RFC 9112 §2.3).
package enum HTTPVersion: Hashable, Sendable, CaseIterable {
    case http10
    case http11
}

/// A request line and its fields. Only ``RequestParser`` creates it. All parts are kept as sent, in one block of bytes.
package struct RequestHead: Hashable, Sendable {
    package let version: HTTPVersion
    package let targetForm: RequestTargetForm
    package let framing: BodyFraming
    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    package let expectsContinue: Bool
    /// Whether the connection may be reused after this request (RFC 9112 §9.3). Never after CONNECT: its client may
    /// take what follows for a tunnel's data (RFC 9110 §9.3.6).
    package let keepsAlive: Bool
    package let fields: RequestFields

    private let methodRange: Range<Int>
    private let pathRange: Range<Int>
    private let queryRange: Range<Int>?
    private let authorityRange: Range<Int>?

    /// - Parameter bytes: the whole header, including the request line and the final empty line.
    init(_ bytes: [UInt8], _ line: RequestLineScanner, _ fields: [FieldRange], _ limits: RequestLimits)
        throws(RequestFault)
    {
        let span = bytes.span
        let target = try RequestTarget(span, method: line.method, target: line.target)
        let version: HTTPVersion = span[line.minorVersion] == UInt8(ascii: "1") ? .http11 : .http10
        let found = FramingFields(span, fields)
        try found.checkHost(span, version)
        let framing = try found.framing(span, version, limits)

        var fields = fields
        if let authority = target.authority, target.form == .absolute, let index = found.hostIndex {
            // RFC 9112 §3.2.2: the target's authority replaces Host, so both always agree.
            fields[index] = FieldRange(name: fields[index].name, value: authority)
        }
        self.fields = RequestFields(bytes: bytes, ranges: fields)
        let awaitsContinue = found.hasExpect ? try Self.awaitsContinue(self.fields, version) : false
        expectsContinue = awaitsContinue && framing.hasContent
        keepsAlive = target.form != .authority && Self.keepsAlive(self.fields, version)
        self.version = version
        self.framing = framing
        targetForm = target.form
        methodRange = line.method
        pathRange = target.path
        queryRange = target.query
        authorityRange = target.authority ?? found.hostIndex.map { fields[$0].value }
    }

    /// The whole header as sent, including the request line and the final empty line.
    package var bytes: [UInt8] { fields.bytes }

    /// As sent. Methods are case-sensitive (RFC 9110 §9.1).
    package var method: ArraySlice<UInt8> { fields.bytes[methodRange] }

    /// As sent, without decoding or removal of dot segments. `*` for ``RequestTargetForm/asterisk``, empty for
    /// ``RequestTargetForm/authority``.
    package var path: ArraySlice<UInt8> {
        guard pathRange.isEmpty, targetForm == .absolute else { return fields.bytes[pathRange] }
        // RFC 9110 §4.2.3: an empty path is `/`. For OPTIONS it means the server itself (RFC 9112 §3.2.4).
        return [UInt8(ascii: isMethod("OPTIONS") && queryRange == nil ? "*" : "/")]
    }

    /// As sent, without the question mark; nil if there is none.
    package var query: ArraySlice<UInt8>? { queryRange.map { fields.bytes[$0] } }

    /// The host and port of the request, from the target or otherwise from the Host field. HTTP/1.0 may have neither.
    package var authority: ArraySlice<UInt8>? { authorityRange.map { fields.bytes[$0] } }

    package func isMethod(_ name: String) -> Bool {
        RequestTarget.equals(fields.bytes.span.extracting(methodRange), name)
    }

    package func isPath(_ path: String) -> Bool { self.path.elementsEqual(path.utf8) }

    /// Whether a request without framing has a method that expects content (RFC 9110 §9.3.3, §9.3.4, RFC 5789). A
    /// server may refuse it with ``RequestFault/lengthRequired``.
    package var lacksLength: Bool {
        framing == .none && (isMethod("POST") || isMethod("PUT") || isMethod("PATCH"))
    }

    /// RFC 9110 §10.1.1: HTTP/1.0 clients don't understand interim responses, so their expectations are ignored.
    private static func awaitsContinue(_ fields: RequestFields, _ version: HTTPVersion) throws(RequestFault) -> Bool {
        guard version == .http11 else { return false }
        var awaitsContinue = false
        for member in fields.members("expect") where !member.isEmpty {
            guard member.span.equalsIgnoringCase("100-continue") else { throw .expectationFailed }
            awaitsContinue = true
        }
        return awaitsContinue
    }

    private static func keepsAlive(_ fields: RequestFields, _ version: HTTPVersion) -> Bool {
        var keepsAlive = version == .http11
        for option in fields.members("connection") {
            if option.span.equalsIgnoringCase("close") { return false }
            if option.span.equalsIgnoringCase("keep-alive") { keepsAlive = true }
        }
        return keepsAlive
    }
}
