/// The four forms of a request target (RFC 9112 §3.2).
package enum RequestTargetForm: Hashable, Sendable, CaseIterable {
    /// A path with an optional query: the usual form.
    case origin
    /// A URI, as clients send it to a proxy. Servers must accept it too (§3.2.2).
    case absolute
    /// A host and a port, only for CONNECT.
    case authority
    /// `*`, only for OPTIONS.
    case asterisk
}

/// The parts of a request target, as positions in the header.
struct RequestTarget {
    let form: RequestTargetForm
    let authority: Range<Int>?
    /// Empty if a URI has no path, which means `/`.
    let path: Range<Int>
    let query: Range<Int>?

    init(_ bytes: Span<UInt8>, method: Range<Int>, target: Range<Int>) throws(RequestFault) {
        let method = bytes.extracting(method)
        let text = bytes.extracting(target)
        if Self.equals(method, "CONNECT") {
            // §3.2.3.
            guard Authority.isValid(text, requiringPort: true) else { throw .targetMalformed }
            self.init(.authority, authority: target, path: target.upperBound..<target.upperBound, query: nil)
        } else if text.count == 1, text[0] == UInt8(ascii: "*") {
            // §3.2.4.
            guard Self.equals(method, "OPTIONS") else { throw .targetMalformed }
            self.init(.asterisk, authority: nil, path: target, query: nil)
        } else if text[0] == UInt8(ascii: "/") {
            let (path, query) = try Self.pathAndQuery(bytes, target)
            self.init(.origin, authority: nil, path: path, query: query)
        } else {
            try self.init(absolute: bytes, target)
        }
    }

    /// §3.2.2.
    private init(absolute bytes: Span<UInt8>, _ target: Range<Int>) throws(RequestFault) {
        let text = bytes.extracting(target)
        guard let schemeEnd = ["http://", "https://"].first(where: { Self.hasPrefix(text, $0) })?.utf8.count else {
            throw .targetMalformed
        }
        var end = schemeEnd
        while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") { end += 1 }
        guard Authority.isValid(text.extracting(schemeEnd..<end)) else { throw .targetMalformed }
        let start = target.lowerBound
        let (path, query) = try Self.pathAndQuery(bytes, start + end..<target.upperBound)
        self.init(.absolute, authority: start + schemeEnd..<start + end, path: path, query: query)
    }

    private init(_ form: RequestTargetForm, authority: Range<Int>?, path: Range<Int>, query: Range<Int>?) {
        self.form = form
        self.authority = authority
        self.path = path
        self.query = query
    }

    /// RFC 3986 §3.3. ``RequestLineScanner`` checks the bytes of a query. A percent sign in it that begins no escape is
    /// accepted, because browsers send it; ``RequestQuery`` reports such a value as malformed.
    private static func pathAndQuery(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(RequestFault)
        -> (path: Range<Int>, query: Range<Int>?)
    {
        var end = range.lowerBound
        while end < range.upperBound, bytes[end] != UInt8(ascii: "?") { end += 1 }
        let path = range.lowerBound..<end
        guard bytes.extracting(path).isEscapedText(of: .path) else { throw .targetMalformed }
        guard end < range.upperBound else { return (path, nil) }
        return (path, end + 1..<range.upperBound)
    }

    /// RFC 3986 §3.1: schemes are case-insensitive.
    private static func hasPrefix(_ text: Span<UInt8>, _ prefix: String) -> Bool {
        text.count >= prefix.utf8.count && text.extracting(first: prefix.utf8.count).equalsIgnoringCase(prefix)
    }

    /// Methods are case-sensitive (RFC 9110 §9.1).
    static func equals(_ method: Span<UInt8>, _ name: String) -> Bool {
        let name = name.utf8Span.span
        guard method.count == name.count else { return false }
        for index in method.indices where method[index] != name[index] { return false }
        return true
    }

    /// Whether the method has arrived and is HEAD.
    static func isHead(_ bytes: Span<UInt8>, _ line: RequestLineScanner) -> Bool {
        line.methodEnd > 0 && equals(bytes.extracting(line.method), "HEAD")
    }
}
