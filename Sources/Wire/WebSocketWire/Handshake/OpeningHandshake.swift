import WireText

/// The parts of an HTTP request for a WebSocket. Each list holds the values of all fields of a name, in order.
package struct OpeningRequest: Sendable {
    package var method: String
    /// Major and minor version of HTTP.
    package var version: (Int, Int)
    package var upgrade: [String]
    package var connection: [String]
    package var key: [String]
    package var webSocketVersion: [String]
    package var protocols: [String]
    package var extensions: [String]

    package init(
        method: String, version: (Int, Int) = (1, 1), upgrade: [String], connection: [String], key: [String],
        webSocketVersion: [String], protocols: [String] = [], extensions: [String] = []
    ) {
        self.method = method
        self.version = version
        self.upgrade = upgrade
        self.connection = connection
        self.key = key
        self.webSocketVersion = webSocketVersion
        self.protocols = protocols
        self.extensions = extensions
    }
}

/// A request that conforms to RFC 6455 §4.2.1. Only `judge` creates one. The HTTP parser checks `Host`.
package struct OpeningHandshake: Hashable, Sendable {
    /// The maximum number of elements of `Upgrade` and of `Connection`, each.
    package static let maximumTokens = 16
    package static let maximumProtocols = 32
    /// RFC 6455 §4.2.1, item 6. A refusal of another version names this one (§4.4).
    package static let version = "13"

    package let key: String
    /// In the client's order of preference, without duplicates.
    package let protocols: [String]
    package let extensions: [WebSocketExtension]

    private init(key: String, protocols: [String], extensions: [WebSocketExtension]) {
        self.key = key
        self.protocols = protocols
        self.extensions = extensions
    }

    /// Why a request can't open a WebSocket: the requirement of RFC 6455 §4.2.1 that it violates.
    package enum Fault: Error, Hashable, Sendable, CaseIterable {
        /// Item 1: the method is GET.
        case method
        /// Item 1: HTTP/1.1 or higher.
        case httpVersion
        /// Item 3: `Upgrade` has the value `websocket`. The response is 426 with `Upgrade: websocket` (RFC 9110
        /// §15.5.22).
        case upgrade
        /// Item 4: `Connection` has the token `Upgrade`.
        case connection
        /// Item 5: one `Sec-WebSocket-Key`, base64 of 16 bytes.
        case key
        /// Item 6: one `Sec-WebSocket-Version`.
        case version
        /// Item 6: the version is 13. The response is 426 with `Sec-WebSocket-Version: 13` (§4.4).
        case unsupportedVersion
        /// Item 8 and §4.1, item 10: `Sec-WebSocket-Protocol` lists tokens: none empty, none repeated, at most
        /// `maximumProtocols`.
        case protocols
        /// Item 9 and §9.1: `Sec-WebSocket-Extensions` is well-formed and within its limits.
        case extensions
    }

    /// - Returns: nil if the request doesn't ask for a WebSocket: other protocols are ignored (RFC 9110 §7.8).
    package static func judge(_ request: OpeningRequest) -> Result<OpeningHandshake, Fault>? {
        let demand = demand(request.upgrade)
        guard demand != .other else { return nil }
        return Result { () throws(Fault) in try check(request, demand) }
    }

    private static func check(_ request: OpeningRequest, _ demand: Demand) throws(Fault) -> OpeningHandshake {
        guard request.method.hasSameBytes(as: "GET") else { throw .method }
        guard request.version >= (1, 1) else { throw .httpVersion }
        guard demand == .webSocket else { throw .upgrade }
        guard contains("upgrade", in: request.connection) else { throw .connection }
        guard request.webSocketVersion.count == 1 else { throw .version }
        guard request.webSocketVersion[0].hasSameBytes(as: version) else { throw .unsupportedVersion }
        guard request.key.count == 1, AcceptKey.isValid(request.key[0]) else { throw .key }
        guard let protocols = protocols(request.protocols) else { throw .protocols }
        guard let extensions = WebSocketExtension.list(request.extensions) else { throw .extensions }
        return OpeningHandshake(key: request.key[0], protocols: protocols, extensions: extensions)
    }

    /// The value of `Sec-WebSocket-Accept`.
    package var accept: String { AcceptKey.accept(for: key) }

    /// The first of the client's subprotocols that the server supports (RFC 6455 §4.2.2, item 5.5). Names are
    /// case-sensitive.
    package func subprotocol(known: [String]) -> String? { protocols.first(where: known.containsBytes) }

    private enum Demand { case webSocket, malformed, other }

    /// RFC 9110 §7.8: protocols with or without a version. RFC 6455's has none. A malformed list that names it asks for
    /// it all the same, and is refused, so that its client hears why.
    private static func demand(_ upgrade: [String]) -> Demand {
        guard let protocols = HeaderText.protocols(upgrade, limit: maximumTokens) else {
            return upgrade.contains { HeaderText.names(webSocket, in: $0) } ? .malformed : .other
        }
        let isListed = protocols.contains { $0.version == nil && ASCIIByte.isSame($0.name, webSocket) }
        return isListed ? .webSocket : .other
    }

    private static let webSocket = "websocket"

    private static func contains(_ token: String, in fields: [String]) -> Bool {
        let tokens = HeaderText.tokens(fields, limit: maximumTokens) ?? []
        return tokens.contains { ASCIIByte.isSame($0, token) }
    }

    private static func protocols(_ fields: [String]) -> [String]? {
        guard let names = HeaderText.tokens(fields, limit: maximumProtocols) else { return nil }
        let distinct = Set(names.map { ByteText($0) })
        return distinct.count == names.count ? names : nil
    }
}
