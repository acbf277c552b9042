import CLibwebsockets
import Glibc

/// The server that a client connects to, and the credentials it presents.
package struct EdgeClientSettings: Sendable {
    package var host: String
    package var port: UInt16
    package var isTLS: Bool
    package var path = "/"
    /// Offered in this order (RFC 6455 §4.1).
    package var subprotocols: [String] = []
    /// A CA file for verifying the server's certificate; nil uses the system's CAs.
    package var caPath: String?
    /// PEM files of a client certificate and its key.
    package var certificatePath: String?
    package var privateKeyPath: String?
    package var maximumMessageBytes = 1 << 20
    /// A numeric address to connect to instead of resolving `host`.
    package var address: String?

    package init(host: String, port: UInt16, isTLS: Bool) {
        self.host = host
        self.port = port
        self.isTLS = isTLS
    }
}

package struct WebSocketClientFailure: Error, Sendable, Equatable {
    /// The HTTP status received instead of 101; nil if there was no response.
    package let status: Int?
    /// The gateway's stable refusal code, from `X-Refusal-Code`: libwebsockets discards the body of a refused upgrade.
    package let code: String?
    /// From `X-Refusal-Request-Id`: what the gateway's logs have.
    package let requestID: String?
    /// `DPoP-Nonce` and `WWW-Authenticate`.
    package let nonce, authenticate: String?
    /// libwebsockets' error text.
    package let reason: String

    package init(
        status: Int? = nil, code: String? = nil, requestID: String? = nil, nonce: String? = nil,
        authenticate: String? = nil, reason: String
    ) {
        self.status = status
        self.code = code
        self.requestID = requestID
        self.nonce = nonce
        self.authenticate = authenticate
        self.reason = reason
    }
}

/// A client for the edge: sends HTTP requests and opens WebSockets from a reactor, for tools. One instance per server;
/// it holds the state that its connections share.
///
/// No server needs it. It is here because its connections are owners of libwebsockets' (`LWSOwner`), whose trampoline,
/// queues and context no other target may touch. A class with package access has no subclasses in another target.
package final class EdgeClient {
    private let reactor: Reactor
    private let settings: EdgeClientSettings
    private let vhost: OpaquePointer
    /// Tried in this order. libwebsockets would resolve the name itself, but gives up when the first address refuses
    /// the connection, as `::1` does if the gateway listens on 127.0.0.1 only.
    private let addresses: [String]

    /// On the reactor's thread. Waits for the name to be resolved, as libwebsockets would.
    ///
    /// - Parameter addresses: of the host; nil resolves it.
    package init(
        on reactor: Reactor, settings: EdgeClientSettings, addresses: [String]? = nil
    ) throws(ReactorError) {
        reactor.preconditionOnThread()
        self.reactor = reactor
        self.settings = settings
        self.addresses = addresses ?? settings.address.map { [$0] } ?? Self.resolve(settings.host)
        guard let vhost = Self.makeVhost(on: reactor, settings) else { throw .vhostFailed("client TLS settings") }
        self.vhost = vhost
    }

    /// Connects. Either `handler` receives `webSocketOpened`, or `failed` is called once.
    ///
    /// - Parameter source: the local address to connect from; nil lets the system choose.
    package func connect(
        headers: [(name: String, value: String)], from source: String? = nil, handler: any ClientWebSocketHandler,
        failed: @escaping (WebSocketClientFailure) -> Void
    ) {
        reactor.preconditionOnThread()
        connect(to: addresses[...], headers: headers, from: source, handler: handler, failed: failed)
    }

    /// - Parameter addresses: those that haven't been tried; not empty.
    private func connect(
        to addresses: ArraySlice<String>, headers: [(name: String, value: String)], from source: String?,
        handler: any ClientWebSocketHandler, failed: @escaping (WebSocketClientFailure) -> Void
    ) {
        let attempt = WebSocketAttempt(
            reactor: reactor, headers: headers, handler: handler, maximumMessageBytes: settings.maximumMessageBytes,
            failed: failed)
        attempt.tryNextAddress = later(addresses) {
            $0.connect(to: $1, headers: headers, from: source, handler: handler, failed: failed)
        }
        if !dial(attempt, to: addresses.first, method: nil, path: settings.path, source: source) {
            attempt.fail("libwebsockets refused to dial")
        }
    }

    /// Sends one request on its own connection; `done` is called once.
    ///
    /// - Parameters:
    ///   - path: with the query.
    ///   - headers: besides `Host` and `Content-Length`.
    ///   - streamed: receives the body of a 2xx answer in pieces; nil: the answer has it.
    package func request(
        _ method: String, path: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        streamed: ((UnsafeRawBufferPointer) -> Void)? = nil,
        done: @escaping (Result<HTTPClientAnswer, HTTPClientFailure>) -> Void
    ) {
        reactor.preconditionOnThread()
        let content = RequestContent(method: method, path: path, headers: headers, body: body, streamed: streamed)
        request(content, to: addresses[...], done: done)
    }

    private struct RequestContent {
        let method: String
        let path: String
        let headers: [(name: String, value: String)]
        let body: [UInt8]?
        let streamed: ((UnsafeRawBufferPointer) -> Void)?
    }

    /// - Parameter addresses: those that haven't been tried; not empty.
    private func request(
        _ content: RequestContent, to addresses: ArraySlice<String>,
        done: @escaping (Result<HTTPClientAnswer, HTTPClientFailure>) -> Void
    ) {
        let request = HTTPClientRequest(
            reactor: reactor, method: content.method, headers: content.headers, body: content.body,
            streamed: content.streamed, done: done)
        request.tryNextAddress = later(addresses) { $0.request(content, to: $1, done: done) }
        if !dial(request, to: addresses.first, method: request.method, path: content.path) {
            request.fail("libwebsockets refused to dial")
        }
    }

    /// Runs `dial` with the addresses after the first, outside libwebsockets' callbacks. Nil if there are none.
    private func later(
        _ addresses: ArraySlice<String>, _ dial: @escaping (EdgeClient, ArraySlice<String>) -> Void
    ) -> (() -> Void)? {
        guard addresses.count > 1 else { return nil }
        return { [self] in
            reactor.submit { [next = Pinned((self, dial, addresses.dropFirst()), to: reactor)] in
                let (client, dial, addresses) = next.value
                dial(client, addresses)
            }
        }
    }

    /// The host's numeric addresses; only the host itself if it has none, so that libwebsockets reports that.
    private static func resolve(_ host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0, let found else { return [host] }
        defer { freeaddrinfo(found) }
        let texts = sequence(first: found, next: { $0.pointee.ai_next }).compactMap { info -> String? in
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let code = getnameinfo(
                info.pointee.ai_addr, info.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            guard code == 0 else { return nil }
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return texts.isEmpty ? [host] : texts
    }

    /// - Parameters:
    ///   - address: nil resolves the host.
    ///   - method: nil requests a WebSocket.
    /// - Returns: whether the owner will get callbacks. If true, the owner is retained until WSI_DESTROY.
    private func dial(
        _ owner: LWSOwner, to address: String?, method: String?, path: String, source: String? = nil
    ) -> Bool {
        let opaque = Unmanaged.passRetained(owner)  // Released by the trampoline at WSI_DESTROY.
        let authority = "\(settings.host):\(settings.port)"
        let offered = method == nil ? settings.subprotocols.joined(separator: ", ") : ""
        let texts: [UnsafeMutablePointer<CChar>?] =
            ([address ?? settings.host, path, authority, offered, method ?? "", source ?? ""] as [String])
            .map { strdup($0) }
        defer { texts.forEach { free($0) } }
        var info = lws_client_connect_info()
        info.context = reactor.context
        info.vhost = vhost
        info.address = UnsafePointer(texts[0])
        info.port = Int32(settings.port)
        info.ssl_connection = settings.isTLS ? Int32(LCCSCF_USE_SSL.rawValue) : 0
        info.path = UnsafePointer(texts[1])
        info.host = UnsafePointer(texts[2])
        info.protocol = offered.isEmpty ? nil : UnsafePointer(texts[3])
        info.method = method == nil ? nil : UnsafePointer(texts[4])
        info.iface = source == nil ? nil : UnsafePointer(texts[5])
        info.alpn = method == nil ? nil : clientALPN
        info.local_protocol_name = clientProtocolName
        info.ietf_version_or_minus_one = -1
        info.opaque_user_data = opaque.toOpaque()
        if lws_client_connect_via_info(&info) == nil, !owner.hasBeenCalled {
            opaque.release()
            return false
        }
        // A connection that failed at once may be closed in a later turn: nil doesn't say whether WSI_DESTROY was
        // called.
        return true
    }

    private static func makeVhost(on reactor: Reactor, _ settings: EdgeClientSettings) -> OpaquePointer? {
        let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        protocols[0].name = UnsafePointer(strdup("client"))
        protocols[0].callback = lwsTrampoline
        protocols[0].rx_buffer_size = 4_096
        protocols[0].tx_packet_size = ClientWebSocket.maximumFrameBytes
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.protocols = UnsafePointer(protocols)
        info.vhost_name = UnsafePointer(strdup("client"))
        info.options = PORTCULLIS_LWS_OPTION_SSL_GLOBAL_INIT
        // libwebsockets keeps these pointers. A tool creates few clients, so the strings live as long as the process.
        if let path = settings.caPath { info.client_ssl_ca_filepath = UnsafePointer(strdup(path)) }
        if let path = settings.certificatePath { info.client_ssl_cert_filepath = UnsafePointer(strdup(path)) }
        if let path = settings.privateKeyPath { info.client_ssl_private_key_filepath = UnsafePointer(strdup(path)) }
        return lws_create_vhost(reactor.context, &info)
    }
}

/// A client's connection, from dial to close. Reactor thread only.
class ClientConnection: LWSOwner {
    /// Called instead of reporting a failure, as long as no request was sent: a request that may have arrived isn't
    /// repeated.
    var tryNextAddress: (() -> Void)?

    override func callback(_ reason: lws_callback_reasons, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        if reason == LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER { tryNextAddress = nil }
        return 0
    }

    /// - Returns: whether another address is tried.
    func triesNextAddress() -> Bool {
        guard let tryNextAddress else { return false }
        self.tryNextAddress = nil
        tryNextAddress()
        return true
    }
}

/// The connection of a WebSocket, and the request that opens it.
private final class WebSocketAttempt: ClientConnection {
    private let headers: [(name: String, value: String)]
    private let maximumMessageBytes: Int
    private var handler: (any ClientWebSocketHandler)?
    private var failed: ((WebSocketClientFailure) -> Void)?
    private var webSocket: ClientWebSocket?

    init(
        reactor: Reactor, headers: [(name: String, value: String)], handler: any ClientWebSocketHandler,
        maximumMessageBytes: Int, failed: @escaping (WebSocketClientFailure) -> Void
    ) {
        self.headers = headers
        self.handler = handler
        self.maximumMessageBytes = maximumMessageBytes
        self.failed = failed
        super.init(reactor: reactor)
    }

    override func callback(_ reason: lws_callback_reasons, _ buffer: UnsafeMutableRawBufferPointer) -> Int32 {
        let input = UnsafeRawBufferPointer(buffer)
        _ = super.callback(reason, buffer)
        switch reason {
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return appendHeaders(input)
        case LWS_CALLBACK_CLIENT_ESTABLISHED: return established()
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            fail(String(decoding: input, as: UTF8.self))
            return 0
        case LWS_CALLBACK_CLIENT_CLOSED, LWS_CALLBACK_CLOSED:
            webSocket?.ended()
            return 0
        case LWS_CALLBACK_WSI_DESTROY:
            webSocket?.ended()
            fail("the connection ended")
            return 0
        default: return webSocket?.callback(reason, input) ?? 0
        }
    }

    private func appendHeaders(_ input: UnsafeRawBufferPointer) -> Int32 {
        addClientHeaders(headers, input) ? 0 : -1
    }

    private func established() -> Int32 {
        guard let wsi, let handler else { return -1 }
        failed = nil
        let webSocket = ClientWebSocket(
            owner: self, wsi: wsi, handler: handler, maximumMessageBytes: maximumMessageBytes)
        self.webSocket = webSocket
        self.handler = nil
        webSocket.opened()
        return 0
    }

    /// - Returns: nil for an empty field too.
    private func field(_ name: String) -> String? {
        let value = wsi.flatMap { ClientAnswer.field($0, name) }
        return value?.isEmpty == false ? value : nil
    }

    func fail(_ reason: String) {
        guard let failed else { return }
        self.failed = nil
        handler = nil
        if triesNextAddress() { return }
        let status = wsi.map { Int(lws_http_client_http_response($0)) } ?? 0
        failed(
            WebSocketClientFailure(
                status: status > 0 ? status : nil, code: field("x-refusal-code:"),
                requestID: field("x-refusal-request-id:"), nonce: field("dpop-nonce:"),
                authenticate: wsi.flatMap(ClientAnswer.authenticate), reason: reason))
    }
}

extension LWSOwner {
    /// Adds headers to a request that libwebsockets is building.
    ///
    /// - Parameter place: from APPEND_HANDSHAKE_HEADER: points to the write position; its count is the room there.
    /// - Returns: whether they fit.
    func addClientHeaders(_ headers: [(name: String, value: String)], _ place: UnsafeRawBufferPointer) -> Bool {
        guard let wsi, let base = place.baseAddress else { return false }
        let position = UnsafeMutableRawPointer(mutating: base)
            .assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self)
        guard let start = position.pointee else { return false }
        let end = start.advanced(by: place.count)
        return headers.allSatisfy { name, value in
            lws_add_http_header_by_name(
                wsi, name.lowercased() + ":", value, Int32(value.utf8.count), position, end) == 0
        }
    }
}

/// Static C strings, because libwebsockets may keep the pointers.
private var clientProtocolName: UnsafePointer<CChar> { cString("client") }
private var clientALPN: UnsafePointer<CChar> { cString("http/1.1") }

private func cString(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}
