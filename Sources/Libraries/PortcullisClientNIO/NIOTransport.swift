import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
public import PortcullisClient

/// Carries requests and WebSockets with SwiftNIO: for Linux, and for servers on any system.
///
/// ```swift
/// let platform = ClientPlatform(transport: try NIOTransport())
/// let client = GateClient(configuration: configuration, platform: platform)
/// ```
///
/// Each request has a connection of its own.
public final class NIOTransport: Transport {
    private let dialer: Dialer

    /// - Throws: ``PortcullisClient/GateError/configuration(_:)`` for a certificate that can't be read.
    public init(trust: ServerTrust = ServerTrust()) throws(GateError) { dialer = try Dialer(trust: trust) }

    public func send(_ request: GateRequest) async throws -> GateResponse {
        guard let target = RequestTarget(request.url) else { throw GateError.configuration(.invalidURL) }
        let head = RequestHead.make(request, target)
        let (body, limit) = (request.body, request.maximumBytes)
        return try await dialer.exchange(target) { channel, response in
            try channel.pipeline.syncOperations.addHTTPClientHandlers(decoderLimitConfiguration: HTTPLimits.decoder)
            try channel.pipeline.syncOperations.addHandler(
                ResponseCollector(head, body: body.map(Array.init), maximumBytes: limit, response))
        }
    }

    public func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel {
        guard let target = RequestTarget(request.url) else { throw GateError.configuration(.invalidURL) }
        let head = RequestHead.make(request, target)
        let limit = request.maximumBytes
        let socket =
            try await dialer.exchange(target) { channel, opened in
                try Self.configureUpgrade(channel, head, maximumBytes: limit, opened)
            } as NIOSocket
        return socket
    }

    /// On the channel's loop: an upgrade that ends as a WebSocket, or as a refusal.
    private static func configureUpgrade(
        _ channel: any Channel, _ head: HTTPRequestHead, maximumBytes: Int, _ opened: Outcome<NIOSocket>
    ) throws {
        let refused = Outcome<GateResponse>()
        let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: maximumBytes, automaticErrorHandling: false) {
            channel, head in
            channel.eventLoop.makeCompletedFuture {
                guard head.headers["Sec-WebSocket-Extensions"].isEmpty, head.headers["Sec-WebSocket-Protocol"].isEmpty
                else {
                    return opened.fail(AnswerFault.webSocket("an extension or a subprotocol that wasn't offered"))
                }
                let handler = SocketHandler(maximumBytes: maximumBytes)
                try channel.pipeline.syncOperations.addHandler(handler)
                opened.succeed(NIOSocket(channel, handler.inbox))
            }
        }
        let collector = ResponseCollector(head, body: nil, maximumBytes: HTTPLimits.refusalBytes, refused)
        try channel.pipeline.syncOperations.addHTTPClientHandlers(
            leftOverBytesStrategy: .forwardBytes, decoderLimitConfiguration: HTTPLimits.decoder,
            withClientUpgrade: (
                upgraders: [upgrader],
                completionHandler: { context in
                    guard let collector = try? context.pipeline.syncOperations.handler(type: ResponseCollector.self)
                    else { return }
                    context.pipeline.syncOperations.removeHandler(collector, promise: nil)
                }
            ))
        try channel.pipeline.syncOperations.addHandler(collector)
        refused.whenComplete { result in
            switch result {
            case .success(let response) where response.status != 101: opened.fail(UpgradeRefusal(response))
            case .success: opened.fail(AnswerFault.webSocket("a malformed 101"))
            case .failure(let error): opened.fail(error)
            }
        }
    }
}

/// Bounds on what a server's header may take.
enum HTTPLimits {
    /// The longest body of a refused upgrade that is read.
    static let refusalBytes = 64 << 10

    static var decoder: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = 16 << 10
        limits.maxHeaderListSize = 64 << 10
        limits.maxHeaderFieldCount = 128
        return limits
    }
}

enum RequestHead {
    static let userAgent = "PortcullisClient/0.1"

    static func make(_ request: GateRequest, _ target: RequestTarget) -> HTTPRequestHead {
        var headers = HTTPHeaders([("Host", target.authority)])
        for field in request.headers.fields { headers.add(name: field.name, value: field.value) }
        // An app may say these itself, for instance that it wants JSON.
        for (name, value) in [("User-Agent", userAgent), ("Accept", "*/*")] where !headers.contains(name: name) {
            headers.add(name: name, value: value)
        }
        let isUpgrade = request.url.utf8.starts(with: "ws".utf8)
        if !isUpgrade { headers.add(name: "Connection", value: "close") }
        if request.body != nil
            || ["POST", "PUT", "PATCH"].contains(where: { $0.utf8.elementsEqual(request.method.utf8) })
        {
            headers.add(name: "Content-Length", value: "\(request.body?.count ?? 0)")
        }
        return HTTPRequestHead(
            version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: target.target, headers: headers)
    }
}
