public import Foundation

/// Carries requests and WebSockets. On Apple's systems this is `URLSessionTransport`, elsewhere `NIOTransport` of
/// PortcullisClientNIO.
///
/// A transport decides nothing: it follows no redirect, keeps no cookie, repeats nothing, and stops reading at the
/// limits that it is given. When its task is cancelled it closes the connection.
public protocol Transport: Sendable {
    /// - Throws: ``NetworkProblem``, or ``AnswerFault`` for an answer beyond the limits.
    func send(_ request: GateRequest) async throws -> GateResponse

    /// Opens a WebSocket.
    ///
    /// - Throws: ``UpgradeRefusal`` with the server's answer; ``NetworkProblem``, or ``AnswerFault``.
    func openWebSocket(_ request: GateRequest) async throws -> any WebSocketChannel
}

/// A request for a transport.
public struct GateRequest: Sendable {
    public let method: String
    /// Absolute, with the scheme `https` or `http`, or `wss` or `ws` for a WebSocket.
    public let url: String
    public var headers: HeaderFields
    public let body: Data?
    /// Of the answer; and of a message, with a WebSocket.
    public let maximumBytes: Int

    public init(
        _ method: String, _ url: String, headers: HeaderFields = HeaderFields(), body: Data? = nil, maximumBytes: Int
    ) {
        (self.method, self.url, self.headers) = (method, url, headers)
        (self.body, self.maximumBytes) = (body, maximumBytes)
    }
}

/// An answer. The body is complete.
public struct GateResponse: Sendable {
    public let status: Int
    public let headers: HeaderFields
    public let body: Data

    public init(status: Int, headers: HeaderFields, body: Data = Data()) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// The server answered an upgrade with something else than 101. Apple's systems give no body.
public struct UpgradeRefusal: Error, Sendable {
    public let response: GateResponse

    public init(_ response: GateResponse) { self.response = response }
}

/// The names and values of header fields, in order.
public struct HeaderFields: Sendable, ExpressibleByDictionaryLiteral {
    public private(set) var fields: [(name: String, value: String)] = []

    public init() {}

    public init(_ fields: [(name: String, value: String)]) { self.fields = fields }

    public init(dictionaryLiteral fields: (String, String)...) { self.fields = fields.map { ($0.0, $0.1) } }

    /// The value of the first field with this name, in any case.
    public subscript(name: String) -> String? { fields.first { $0.name.isSameIgnoringCase(as: name) }?.value }

    public mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }
}

/// An open WebSocket. One task receives, another sends.
public protocol WebSocketChannel: Sendable {
    /// The next message. Nothing further is read until it is called again, beyond a bounded reserve.
    ///
    /// - Throws: ``WebSocketEnd``
    func receive() async throws -> WebSocketMessage

    /// Returns when the message was given to the network.
    ///
    /// - Throws: ``WebSocketEnd``
    func send(_ message: WebSocketMessage) async throws

    /// Sends a ping, and returns when its pong has come.
    ///
    /// - Throws: ``WebSocketEnd``
    func ping() async throws

    /// Sends a Close frame, and closes the connection soon after. It returns at once.
    func close(code: UInt16, reason: String)
}

public enum WebSocketMessage: Sendable {
    case text([UInt8])
    case binary([UInt8])
}

/// How a WebSocket has ended.
public enum WebSocketEnd: Error, Sendable, Equatable {
    /// The server's Close frame; 1005 if it has no code.
    case closed(code: UInt16, reason: String)
    /// Without a Close frame.
    case lost(NetworkProblem)
    /// The server broke the protocol, or a message was larger than allowed.
    case violated(AnswerFault)
}
