import CLibwebsockets
import Glibc

/// The response to a client's request.
package struct HTTPClientAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
    /// `DPoP-Nonce` and `WWW-Authenticate`.
    package let nonce, authenticate: String?
}

package struct HTTPClientFailure: Error, Sendable {
    /// libwebsockets' error text.
    package let reason: String

    package init(reason: String) {
        self.reason = reason
    }
}

/// One HTTP client request on its own connection, from dial to response. Reactor thread only.
final class HTTPClientRequest: ClientConnection {
    /// A longer body ends the request. No gateway response comes near this size.
    static let maximumBodyBytes = 1 << 20

    let method: String
    private let headers: [(name: String, value: String)]
    private let body: [UInt8]?
    private let streamed: ((UnsafeRawBufferPointer) -> Void)?
    private var done: ((Result<HTTPClientAnswer, HTTPClientFailure>) -> Void)?
    private var status = 0
    private var nonce, authenticate: String?
    private var received: [UInt8] = []

    /// - Parameters:
    ///   - headers: without `Content-Length`.
    ///   - streamed: receives the body of a success in pieces, however long it is; nil: the answer has it.
    init(
        reactor: Reactor, method: String, headers: [(name: String, value: String)], body: [UInt8]?,
        streamed: ((UnsafeRawBufferPointer) -> Void)? = nil,
        done: @escaping (Result<HTTPClientAnswer, HTTPClientFailure>) -> Void
    ) {
        self.method = method
        self.headers = headers
        self.body = body
        self.streamed = streamed
        self.done = done
        super.init(reactor: reactor)
    }

    override func callback(_ reason: lws_callback_reasons, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        let input = UnsafeRawBufferPointer(buffer)
        _ = super.callback(reason, buffer)
        switch reason {
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return appendHeaders(input)
        case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE: return writeBody()
        case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
            readHead()
            return 0
        case LWS_CALLBACK_RECEIVE_CLIENT_HTTP: return readSome()
        case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
            return receive(input)
        case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
            finish(.success(HTTPClientAnswer(status: status, body: received, nonce: nonce, authenticate: authenticate)))
            return -1
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            fail(String(decoding: input, as: UTF8.self))
            return 0
        case LWS_CALLBACK_WSI_DESTROY:
            fail("the connection ended")
            return 0
        default: return 0
        }
    }

    func fail(_ reason: String) {
        guard let done else { return }
        self.done = nil
        if triesNextAddress() { return }
        done(.failure(HTTPClientFailure(reason: reason)))
    }

    private func finish(_ result: Result<HTTPClientAnswer, HTTPClientFailure>) {
        let done = done
        self.done = nil
        done?(result)
    }

    private func readHead() {
        guard let wsi else { return }
        status = Int(lws_http_client_http_response(wsi))
        nonce = ClientAnswer.field(wsi, "dpop-nonce:")
        authenticate = ClientAnswer.authenticate(wsi)
    }

    private func receive(_ input: UnsafeRawBufferPointer) -> Int32 {
        if let streamed, (200..<300).contains(status) {
            streamed(input)
            return 0
        }
        guard received.count + input.count <= Self.maximumBodyBytes else { return -1 }
        received.append(contentsOf: input)
        return 0
    }

    private func appendHeaders(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard addClientHeaders(headers, input) else { return -1 }
        guard let body else { return 0 }
        guard let wsi, addClientHeaders([("Content-Length", "\(body.count)")], input) else { return -1 }
        lws_client_http_body_pending(wsi, 1)
        lws_callback_on_writable(wsi)
        return 0
    }

    private func writeBody() -> Int32 {
        guard let wsi, let body else { return 0 }
        lws_client_http_body_pending(wsi, 0)
        return withUnsafeTemporaryAllocation(byteCount: PORTCULLIS_LWS_PRE + body.count, alignment: 16) { buffer in
            let payload = UnsafeMutableRawBufferPointer(rebasing: buffer[PORTCULLIS_LWS_PRE...])
            payload.copyBytes(from: body)
            let start = payload.baseAddress!.assumingMemoryBound(to: UInt8.self)
            return lws_write(wsi, start, body.count, LWS_WRITE_HTTP_FINAL) < 0 ? -1 : 0
        }
    }

    private func readSome() -> Int32 {
        guard let wsi else { return -1 }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: PORTCULLIS_LWS_PRE + 4_096) { buffer in
            var start: UnsafeMutablePointer<CChar>? = buffer.baseAddress!.advanced(by: PORTCULLIS_LWS_PRE)
            var length: Int32 = 4_096
            return lws_http_client_read(wsi, &start, &length)
        }
    }
}

/// Reads the response to a request of libwebsockets' own client.
enum ClientAnswer {
    /// A header field, by its lower-case name with a colon; nil if it is absent. Call it inside a callback during which
    /// `wsi` still holds the header.
    static func field(_ wsi: OpaquePointer, _ name: String) -> String? {
        let length = Int(lws_hdr_custom_length(wsi, name, Int32(name.utf8.count)))
        guard length >= 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(
                lws_hdr_custom_copy(wsi, buffer.baseAddress!, Int32(length + 1), name, Int32(name.utf8.count)))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// `WWW-Authenticate`, a field that libwebsockets knows and so doesn't find by name; nil if it is absent.
    static func authenticate(_ wsi: OpaquePointer) -> String? {
        let length = Int(lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_WWW_AUTHENTICATE))
        guard length > 0 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: length + 1) { buffer in
            let count = Int(
                lws_hdr_copy(wsi, buffer.baseAddress!, Int32(length + 1), WSI_TOKEN_HTTP_WWW_AUTHENTICATE))
            return String(decoding: buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
