/// Whether a request's body is framed in a way that can only be read in one way (RFC 9112 §6).
///
/// Stricter than the RFC: what libwebsockets 4.1.6 would read differently from another server in front of it is refused, so
/// that nothing can be hidden behind a request.
enum RequestFraming: Equatable {
    case none
    case body(count: Int)
    case refused(status: Int, code: String, message: String)

    static func check(_ head: RequestHead, maximumBodyBytes: Int) -> RequestFraming {
        check(
            method: head.method, transferEncoding: head["transfer-encoding"], contentLength: head["content-length"],
            maximumBodyBytes: maximumBodyBytes)
    }

    static func check(
        method: RequestHead.Method, transferEncoding: String?, contentLength: String?, maximumBodyBytes: Int
    ) -> RequestFraming {
        guard transferEncoding == nil else { return malformed("Transfer-Encoding is not supported") }
        guard let contentLength else {
            guard method == .post else { return .none }
            return .refused(status: 411, code: "length_required", message: "Content-Length required")
        }
        let digits = contentLength.utf8
        guard (1...18).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }),
            let count = Int(contentLength)
        else { return malformed("Malformed Content-Length") }
        guard method == .post else {
            return count == 0 ? .none : malformed("A body is not expected here")
        }
        guard count <= maximumBodyBytes else {
            return .refused(status: 413, code: "body_too_large", message: "Request body too large")
        }
        return .body(count: count)
    }

    private static func malformed(_ message: String) -> RequestFraming {
        .refused(status: 400, code: "malformed_request", message: message)
    }

    /// libwebsockets copies these two into 128 bytes and hangs up without an answer if they don't fit: after the gate has spent
    /// the client's challenge. So they are measured before it.
    static func fitsLibwebsockets(_ head: RequestHead) -> Bool {
        (head["connection"] ?? "").utf8.count < 127 && (head["sec-websocket-protocol"] ?? "").utf8.count < 127
    }
}
