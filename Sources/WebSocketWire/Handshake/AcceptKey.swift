import Crypto

/// `Sec-WebSocket-Key` and `Sec-WebSocket-Accept` (RFC 6455 §4.2.2, step 5.4). SHA-1 has no security purpose here: the pair only shows that
/// the server speaks WebSocket.
package enum AcceptKey {
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The value of `Sec-WebSocket-Accept` for the key that the client sent.
    package static func accept(for key: String) -> String {
        base64(Array(Insecure.SHA1.hash(data: Array((key + suffix).utf8))))
    }

    /// Whether it is the base64 form of exactly 16 bytes, with padding and without stray bits (RFC 6455 §4.2.1, item 5; RFC 4648 §3.5).
    package static func isValid(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        guard bytes.count == 24, bytes[22] == UInt8(ascii: "="), bytes[23] == UInt8(ascii: "=") else { return false }
        guard bytes[..<22].allSatisfy({ alphabet.contains($0) }), let last = alphabet.firstIndex(of: bytes[21]) else {
            return false
        }
        return last & 0xF == 0
    }

    /// Makes a client's key from 16 random bytes (RFC 6455 §4.1, item 7).
    package static func key(from nonce: [UInt8]) -> String {
        precondition(nonce.count == 16, "the nonce has 16 bytes")
        return base64(nonce)
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func base64(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0) }
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 0x3F] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
