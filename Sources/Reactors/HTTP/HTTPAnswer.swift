import HTTPWire

/// An HTTP answer as a value: status, headers beyond the standing ones, body.
package struct HTTPAnswer: Sendable {
    package let status: Int
    package var headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// The connection ends behind this answer, and nothing pipelined behind the request is served.
    package var closesConnection: Bool

    package init(
        status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], closesConnection: Bool = false
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.closesConnection = closesConnection
    }

    /// With the headers that every answer has.
    ///
    /// - Parameter strictTransport: the value of `Strict-Transport-Security`; nil without TLS: only over TLS may a client be asked to stay
    ///   there (RFC 6797 §7.2).
    func response(strictTransport: String?) -> Response {
        var response = Response(code: status)
        for (name, value) in headers { response.add(name, value) }
        if let strictTransport { response.add("Strict-Transport-Security", strictTransport) }
        response.add("X-Content-Type-Options", "nosniff")
        return response
    }
}
