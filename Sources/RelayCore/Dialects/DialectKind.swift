/// The protocol that the client of one connection speaks. Chosen once for the connection's life.
package enum DialectKind: String, Hashable, Sendable, CaseIterable {
    /// The target's bytes unchanged in both directions: the client handles telnet itself.
    case raw
    /// UTF-8 and ANSI.
    case terminal
    /// Terminal, plus GMCP as text messages.
    case gmcp
    /// Terminal, plus all out-of-band data as JSON envelopes.
    case json
    /// The typed JSON protocol of mud-web-proxy 4.
    case typed
    /// The older protocol of mud-web-proxy: `connect` as JSON, then text in and deflated text out.
    case legacy

    /// The subprotocols (RFC 6455 §1.9) that name a dialect. Other dialects are detected from the first message.
    package static let subprotocols: [(name: String, kind: DialectKind)] = [
        ("telnet.mudstandards.org", .raw), ("telnet", .raw), ("binary", .raw), ("terminal.mudstandards.org", .terminal),
        ("gmcp.mudstandards.org", .gmcp), ("json.mudstandards.org", .json),
    ]

    /// - Parameter subprotocol: as in `Sec-WebSocket-Protocol`, case-sensitive.
    package init?(subprotocol: String) {
        guard let known = Self.subprotocols.first(where: { $0.name == subprotocol }) else { return nil }
        self = known.kind
    }
}
