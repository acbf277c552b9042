import KeyStore
import WireText

/// Checks the opening handshake of RFC 6455 section 4.2.1, and that a subprotocol is supported.
struct HandshakePolicy: AdmissionPolicy {
    private static let keyByteCount = 16
    /// With padding, which RFC 6455 section 4.1 requires.
    private static let keyCharacterCount = 24

    let subprotocols: Subprotocols

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let handshake = attempt.request.handshake
        guard handshake.method == "GET" else { return .refused(.malformedHandshake, "method is not GET") }
        guard handshake.isHTTP11 else { return .refused(.malformedHandshake, "HTTP/1.0") }
        guard let upgrade = handshake.upgrade, ASCIIByte.lowercased(upgrade) == "websocket",
            handshake.connectionIsUpgrade
        else {
            return .refused(.malformedHandshake, "not an upgrade to websocket")
        }
        guard handshake.version == "13" else { return .refused(.unsupportedVersion, "version is not 13") }
        guard let key = handshake.key, key.utf8.count == Self.keyCharacterCount,
            Base64.decode(key, maximumBytes: Self.keyByteCount)?.count == Self.keyByteCount
        else { return .refused(.malformedHandshake, "key is not 16 bytes of base64") }
        guard handshake.isWellFormed else {
            return .refused(.malformedHandshake, "a header of the handshake is repeated or malformed")
        }
        guard handshake.offeredSubprotocols.isEmpty || subprotocols.choose(from: handshake.offeredSubprotocols) != nil
        else { return .refused(.unknownSubprotocol, "only unknown subprotocols offered") }
        return .passed
    }
}

/// The subprotocols that the gateway speaks. Names are compared case-sensitively: see RFC 6455 section 11.5.
package struct Subprotocols: Sendable {
    package static let standard = Subprotocols(["binary", "telnet", "telnet.mudstandards.org"])

    private let known: Set<String>

    package init(_ names: [String]) { known = Set(names) }

    /// The first supported one in the client's order; the 101 names it.
    func choose(from offered: [String]) -> String? { offered.first(where: known.contains) }
}
