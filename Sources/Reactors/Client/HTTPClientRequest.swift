import CLibwebsockets
import Glibc

/// The response to a client's request.
package struct HTTPClientAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
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

    private let body: [UInt8]?
    private var done: ((Result<HTTPClientAnswer, HTTPClientFailure>) -> Void)?
    private var status = 0
    private var received: [UInt8] = []

    /// - Parameter body: JSON to POST; nil for a GET.
    init(
        reactor: Reactor, body: [UInt8]?, done: @escaping (Result<HTTPClientAnswer, HTTPClientFailure>) -> Void
    ) {
        self.body = body
        self.done = done
        super.init(reactor: reactor)
    }

    var method: String { body == nil ? "GET" : "POST" }

    override func callback(_ reason: lws_callback_reasons, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        let input = UnsafeRawBufferPointer(buffer)
        _ = super.callback(reason, buffer)
        switch reason {
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return appendHeaders(input)
        case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE: return writeBody()
        case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
            status = wsi.map { Int(lws_http_client_http_response($0)) } ?? 0
            return 0
        case LWS_CALLBACK_RECEIVE_CLIENT_HTTP: return readSome()
        case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
            guard received.count + input.count <= Self.maximumBodyBytes else { return -1 }
            received.append(contentsOf: input)
            return 0
        case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
            finish(.success(HTTPClientAnswer(status: status, body: received)))
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

    private func appendHeaders(_ input: UnsafeRawBufferPointer) -> Int32 {
        guard let body else { return 0 }
        guard let wsi,
            addClientHeaders([("Content-Type", "application/json"), ("Content-Length", "\(body.count)")], input)
        else { return -1 }
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
