import Crypto
import WireText

/// `Sec-WebSocket-Key` and `Sec-WebSocket-Accept` (RFC 6455 §4.2.2, step 5.4). SHA-1 has no security purpose here: the pair only shows that
/// the server speaks WebSocket.
package enum AcceptKey {
    private static let nonceBytes = 16
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The value of `Sec-WebSocket-Accept` for the key that the client sent.
    package static func accept(for key: String) -> String {
        Base64.encode(Array(Insecure.SHA1.hash(data: Array((key + suffix).utf8))))
    }

    /// Whether it is the base64 form of exactly 16 bytes, with padding and without stray bits (RFC 6455 §4.2.1, item 5; RFC 4648 §3.5).
    package static func isValid(_ key: String) -> Bool {
        Base64.decode(canonical: key, maximumBytes: nonceBytes)?.count == nonceBytes
    }

    /// Makes a client's key from 16 random bytes (RFC 6455 §4.1, item 7).
    package static func key(from nonce: [UInt8]) -> String {
        precondition(nonce.count == nonceBytes, "the nonce has 16 bytes")
        return Base64.encode(nonce)
    }
}
