import Crypto
import WireText

/// The client's check of the server's response (RFC 6455 §4.1, after the request). For tools and tests.
package struct OpeningAnswer: Hashable, Sendable {
    package let subprotocol: String?
    package let extensions: [WebSocketExtension]

    package enum Fault: Error, Hashable, Sendable {
        /// Item 1: only 101 switches protocols.
        case status
        /// Items 2 and 3.
        case upgrade, connection
        /// Item 4: the value isn't the one computed from the key (§4.2.2).
        case accept
        /// Item 5: an extension that wasn't offered.
        case extensions
        /// Item 6: a subprotocol that wasn't offered.
        case subprotocol
    }

    /// - Parameters:
    ///   - key: as the client sent it; its offers follow.
    ///   - accept: values of all `Sec-WebSocket-Accept` fields. The other lists are for their fields.
    package static func check(
        status: Int, upgrade: [String], connection: [String], accept: [String], protocols: [String] = [],
        extensions: [String] = [], key: String, offeredProtocols: [String] = [], offeredExtensions: [String] = []
    ) throws(Fault) -> OpeningAnswer {
        guard status == 101 else { throw .status }
        guard upgrade.count == 1, ASCIIByte.isSame(upgrade[0], "websocket") else { throw .upgrade }
        let tokens = HeaderText.tokens(connection, limit: OpeningHandshake.maximumTokens) ?? []
        guard tokens.contains(where: { ASCIIByte.isSame($0, "upgrade") }) else { throw .connection }
        guard accept.count == 1, accept[0].hasSameBytes(as: AcceptKey.accept(for: key)) else { throw .accept }
        guard let agreed = WebSocketExtension.list(extensions),
            agreed.allSatisfy({ offeredExtensions.containsBytes(of: $0.name) })
        else { throw .extensions }
        guard protocols.count <= 1, protocols.allSatisfy(offeredProtocols.containsBytes) else { throw .subprotocol }
        return OpeningAnswer(subprotocol: protocols.first, extensions: agreed)
    }
}

/// `Sec-WebSocket-Key` and `Sec-WebSocket-Accept` (RFC 6455 §4.2.2, step 5.4). SHA-1 has no security purpose here: the
/// pair only shows that the server speaks WebSocket.
package enum AcceptKey {
    private static let nonceBytes = 16
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The value of `Sec-WebSocket-Accept` for the key that the client sent.
    package static func accept(for key: String) -> String {
        Base64.encode(Array(Insecure.SHA1.hash(data: Array((key + suffix).utf8))))
    }

    /// Whether it is the base64 form of exactly 16 bytes, with padding and without stray bits (RFC 6455 §4.2.1, item 5;
    /// RFC 4648 §3.5).
    package static func isValid(_ key: String) -> Bool {
        Base64.decode(canonical: key, maximumBytes: nonceBytes)?.count == nonceBytes
    }

    /// Makes a client's key from 16 random bytes (RFC 6455 §4.1, item 7).
    package static func key(from nonce: [UInt8]) -> String {
        precondition(nonce.count == nonceBytes, "the nonce has 16 bytes")
        return Base64.encode(nonce)
    }
}
