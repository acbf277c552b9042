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
