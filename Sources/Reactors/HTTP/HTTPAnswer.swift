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

    /// The answer's bytes. Header values of ours only: never a peer's text.
    ///
    /// - Parameter isSecure: over TLS: only there may it be asked for, to stay there (RFC 6797 §7.2).
    func serialized(omittingBody: Bool, isSecure: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for (name, value) in headers {
            text += "\(name): \(value)\r\n"
        }
        text += "Content-Length: \(body.count)\r\n"
        if isSecure { text += "Strict-Transport-Security: max-age=31536000\r\n" }
        text += "X-Content-Type-Options: nosniff\r\n"
        text += closesConnection ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n"
        return Array(text.utf8) + (omittingBody ? [] : body)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
