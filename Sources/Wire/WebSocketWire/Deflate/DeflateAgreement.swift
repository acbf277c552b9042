import WireText

/// The negotiated permessage-deflate parameters of one connection (RFC 7692 §7.1).
package struct DeflateAgreement: Hashable, Sendable {
    /// The window of the server's deflater, 9 to 15 bits.
    package let serverWindowBits: Int
    /// The window for inflating the client's messages, 9 to 15 bits.
    package let clientWindowBits: Int
    package let serverKeepsContext: Bool
    package let clientKeepsContext: Bool
    /// The element of the server's `Sec-WebSocket-Extensions`.
    package let response: WebSocketExtension

    /// The zlib memory level for which the deflater's tables take as much memory as its window: 1 to 8.
    package var memoryLevel: Int { max(1, serverWindowBits - 7) }

    /// The server's response to an offer; nil if the offer must be declined.
    package init?(to offer: DeflateOffer, settings: DeflateSettings) {
        guard settings.isOn else { return nil }
        // §7.1.2.1: the response's window is no larger than the offer's. Ours can't have 8 bits.
        let server = min(settings.serverWindowBits, offer.serverMaxWindowBits ?? 15)
        guard DeflateSettings.windowBits.contains(server) else { return nil }
        serverWindowBits = server
        serverKeepsContext = settings.serverKeepsContext && !offer.serverNoContextTakeover
        clientKeepsContext = settings.clientKeepsContext && !offer.clientNoContextTakeover
        // §7.1.2.2: only a client that named the parameter can be limited.
        let client = offer.clientMaxWindowBits ?? 15
        let limit = offer.allowsClientMaxWindowBits ? min(client, settings.clientWindowBits) : 15
        // A 9-bit window can inflate the output of an 8-bit one.
        clientWindowBits = max(limit, 9)
        var parameters: [WebSocketExtension.Parameter] = []
        // §7.1.1.1: accepting an offer with this parameter requires it in the response; the response may also add it.
        if !serverKeepsContext { parameters.append(.init("server_no_context_takeover")) }
        if !clientKeepsContext { parameters.append(.init("client_no_context_takeover")) }
        // §7.1.2.1: likewise. A smaller window that the client didn't request need not be announced.
        if offer.serverMaxWindowBits != nil { parameters.append(.init("server_max_window_bits", "\(server)")) }
        if limit < 15 { parameters.append(.init("client_max_window_bits", "\(limit)")) }
        response = WebSocketExtension(DeflateOffer.name, parameters)
    }

    /// The client's check of a server's response to its offer (§7.1.3); nil if the connection must fail.
    package init?(response: WebSocketExtension, to offered: WebSocketExtension) {
        // A response has the same parameters as an offer, each with its value.
        guard let offer = DeflateOffer(offered), let answer = DeflateOffer(response) else { return nil }
        guard !answer.allowsClientMaxWindowBits || answer.clientMaxWindowBits != nil else { return nil }
        guard !answer.allowsClientMaxWindowBits || offer.allowsClientMaxWindowBits else { return nil }
        guard !offer.serverNoContextTakeover || answer.serverNoContextTakeover else { return nil }
        if let asked = offer.serverMaxWindowBits {
            guard let given = answer.serverMaxWindowBits, given <= asked else { return nil }
        }
        let client = min(answer.clientMaxWindowBits ?? 15, offer.clientMaxWindowBits ?? 15)
        guard DeflateSettings.windowBits.contains(client) else { return nil }
        serverWindowBits = max(answer.serverMaxWindowBits ?? 15, 9)
        clientWindowBits = client
        serverKeepsContext = !answer.serverNoContextTakeover
        clientKeepsContext = !answer.clientNoContextTakeover && !offer.clientNoContextTakeover
        self.response = response
    }
}

/// A client's valid offer of permessage-deflate (RFC 7692 §7.1).
package struct DeflateOffer: Hashable, Sendable {
    package static let name = "permessage-deflate"

    /// §7.1.1.1: the server must reset its window after each message.
    package private(set) var serverNoContextTakeover = false
    /// §7.1.1.2: the client will reset its window after each message, whatever the response says.
    package private(set) var clientNoContextTakeover = false
    /// §7.1.2.1: the maximum size of the server's window, 8 to 15 bits.
    package private(set) var serverMaxWindowBits: Int?
    /// §7.1.2.2: whether the response may limit the client's window.
    package private(set) var allowsClientMaxWindowBits = false
    /// §7.1.2.2: the maximum size of the client's window, whatever the response says.
    package private(set) var clientMaxWindowBits: Int?

    /// Nil if the offer is for another extension or must be declined: a parameter is undefined for offers, has an
    /// invalid value or is repeated (§7.1).
    package init?(_ offered: WebSocketExtension) {
        guard offered.name.hasSameBytes(as: Self.name) else { return nil }
        guard Set(offered.parameters.map { ByteText($0.name) }).count == offered.parameters.count else { return nil }
        for parameter in offered.parameters {
            guard read(parameter) else { return nil }
        }
    }

    private mutating func read(_ parameter: WebSocketExtension.Parameter) -> Bool {
        switch WireWord(parameter.name) {
        case "server_no_context_takeover":
            serverNoContextTakeover = true
            return parameter.value == nil
        case "client_no_context_takeover":
            clientNoContextTakeover = true
            return parameter.value == nil
        case "server_max_window_bits":
            serverMaxWindowBits = parameter.value.flatMap(Self.windowBits)
            return serverMaxWindowBits != nil
        case "client_max_window_bits":
            allowsClientMaxWindowBits = true
            clientMaxWindowBits = parameter.value.flatMap(Self.windowBits)
            return parameter.value == nil || clientMaxWindowBits != nil
        default:
            return false
        }
    }

    /// §7.1.2: a decimal number from 8 to 15 without leading zeros.
    static func windowBits(_ value: String) -> Int? {
        switch WireWord(value) {
        case "8": 8
        case "9": 9
        case "10": 10
        case "11": 11
        case "12": 12
        case "13": 13
        case "14": 14
        case "15": 15
        default: nil
        }
    }
}

/// The gateway's settings for permessage-deflate.
package struct DeflateSettings: Hashable, Sendable {
    /// zlib can't create a raw stream with an 8-bit window.
    package static let windowBits = 9...15

    package var isOn: Bool
    /// The maximum windows. A client may request smaller ones, and low memory may reduce them.
    package var serverWindowBits: Int
    package var clientWindowBits: Int
    /// Whether windows are kept between messages. This compresses short messages far better, but costs memory.
    package var serverKeepsContext: Bool
    package var clientKeepsContext: Bool
    /// Shorter messages of ours are sent uncompressed.
    package var minimumBytes: Int
    /// zlib's level: 1 is fastest, 9 smallest.
    package var level: Int

    package init(
        isOn: Bool = true, serverWindowBits: Int = 12, clientWindowBits: Int = 12, serverKeepsContext: Bool = true,
        clientKeepsContext: Bool = true, minimumBytes: Int = 64, level: Int = 6
    ) {
        precondition(Self.windowBits.contains(serverWindowBits) && Self.windowBits.contains(clientWindowBits))
        precondition(minimumBytes >= 0 && (1...9).contains(level))
        self.isOn = isOn
        self.serverWindowBits = serverWindowBits
        self.clientWindowBits = clientWindowBits
        self.serverKeepsContext = serverKeepsContext
        self.clientKeepsContext = clientKeepsContext
        self.minimumBytes = minimumBytes
        self.level = level
    }
}
