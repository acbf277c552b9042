/// Whether a request's body is framed in a way that can only be read in one way (RFC 9112 §6).
///
/// Stricter than the RFC: what libwebsockets 4.1.6 would read differently from another server in front of it is refused, so
/// that nothing can be hidden behind a request.
enum RequestFraming: Equatable {
    case none
    case body(count: Int)
    case refused(FramingRefusal)

    static func check(_ head: RequestHead, maximumBodyBytes: Int) -> RequestFraming {
        check(
            method: head.method, transferEncoding: head["transfer-encoding"], contentLength: head["content-length"],
            maximumBodyBytes: maximumBodyBytes)
    }

    static func check(
        method: RequestHead.Method, transferEncoding: String?, contentLength: String?, maximumBodyBytes: Int
    ) -> RequestFraming {
        guard transferEncoding == nil else { return .refused(.malformed("Transfer-Encoding")) }
        guard let contentLength else {
            guard method == .post else { return .none }
            return .refused(.lengthRequired)
        }
        let digits = contentLength.utf8
        guard (1...18).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }),
            let count = Int(contentLength)
        else { return .refused(.malformed("Content-Length is not one number")) }
        guard method == .post else {
            return count == 0 ? .none : .refused(.malformed("a body on a request that is no POST"))
        }
        guard count <= maximumBodyBytes else {
            return .refused(.bodyTooLarge)
        }
        return .body(count: count)
    }

    /// libwebsockets copies these two into 128 bytes and hangs up without an answer if they don't fit: after the gate has spent
    /// the client's challenge. So they are measured before it.
    static func fitsLibwebsockets(_ head: RequestHead) -> Bool {
        (head["connection"] ?? "").utf8.count < 127 && (head["sec-websocket-protocol"] ?? "").utf8.count < 127
    }
}

/// Why a request was refused before anyone looked at what it asks for.
package enum FramingRefusal: Equatable, Sendable {
    /// The detail is for the log.
    case malformed(String)
    case lengthRequired
    case bodyTooLarge
}
