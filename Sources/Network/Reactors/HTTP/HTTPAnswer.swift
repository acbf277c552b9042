import HTTPWire

/// An HTTP response as a value: status, headers in addition to the default ones, body.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package var headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// The connection ends after this response; pipelined requests after it are not served.
    package var closesConnection: Bool

    package init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], closesConnection: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.closesConnection = closesConnection
    }

    /// The response with the default headers added.
    ///
    /// - Parameter strictTransport: the value of `Strict-Transport-Security`; nil without TLS: it may be sent over TLS
    ///   only (RFC 6797 §7.2).
    func response(strictTransport: String?) -> Response {
        var response = Response(code: status)
        for (name, value) in headers { response.add(name, value) }
        if let strictTransport { response.add("Strict-Transport-Security", strictTransport) }
        response.add("X-Content-Type-Options", "nosniff")
        return response
    }
}
