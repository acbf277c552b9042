/// The attackers' messages.
struct AttackMessages: Sendable {
    let authority: String
    /// A ticket for upgrades that must be admitted; nil if none is needed.
    let ticket: String?

    private static let key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    private static let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"

    /// Each is of a different kind from the one before: no credentials, wrong ones of each kind, and malformed handshakes.
    func badUpgrade(_ number: Int) -> [UInt8] {
        let good = Self.upgrade + "Sec-WebSocket-Version: 13\r\n" + Self.key
        let nonce = String(repeating: "0f", count: 32)
        return switch number % 8 {
        case 0: request("GET", "/", good)
        case 1: request("GET", "/?ticket=AAAA", good)
        case 2:
            request(
                "GET", "/",
                good + "\r\nX-App-Assert-KeyId: AAAA\r\nX-App-Assert-Data: AAAA\r\nX-App-Assert-Nonce: \(nonce)")
        case 3: request("GET", "/", Self.upgrade + "Sec-WebSocket-Version: 8\r\n" + Self.key)
        case 4: request("GET", "/", Self.upgrade + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AA==")
        case 5: request("GET", "/", good + "\r\nSec-WebSocket-Protocol: no-such-protocol")
        case 6: request("GET", "/no-such-path", good)
        default: request("GET", "/", "Connection: Upgrade\r\nUpgrade: h2c")
        }
    }

    /// Each is refused for a different reason from the one before, and none makes the gateway close the connection. There is no
    /// POST: libwebsockets 4.1.6 doesn't read a POST that arrives before the answer to the previous request.
    func refused(_ number: Int) -> [UInt8] {
        let good = Self.upgrade + "Sec-WebSocket-Version: 13\r\n" + Self.key
        let nonce = String(repeating: "0f", count: 32)
        return switch number % 6 {
        case 0: request("GET", "/no-such-path", nil)
        case 1: request("GET", "/?ticket=AAAA", good)
        case 2:
            request(
                "GET", "/",
                good + "\r\nX-App-Assert-KeyId: AAAA\r\nX-App-Assert-Data: AAAA\r\nX-App-Assert-Nonce: \(nonce)")
        case 3: request("GET", "/", Self.upgrade + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AA==")
        case 4: request("DELETE", "/attest/challenge", nil)
        default: request("GET", "/", "Connection: Upgrade\r\nUpgrade: h2c")
        }
    }

    var goodUpgrade: [UInt8] {
        request(
            "GET", ticket.map { "/?ticket=\($0)" } ?? "/",
            Self.upgrade + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: telnet\r\n" + Self.key)
    }

    var challenge: [UInt8] { request("GET", "/attest/challenge", nil) }

    var beginningOfHeader: [UInt8] { Array("GET / HTTP/1.1\r\nX-Slow: ".utf8) }

    /// A TLS 1.2 record with the first bytes of a ClientHello of 508 bytes (RFC 8446 §4.1.2, §5.1).
    static let beginningOfHandshake: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]

    /// Small valid frames, including empty ones and pings, masked with 0 (RFC 6455 §5.3).
    static let frames: [UInt8] = {
        let mask: [UInt8] = [0, 0, 0, 0]
        let (binary, ping) = ([0x82, 0x81] + mask + [0x78], [0x89, 0x80] + mask) as ([UInt8], [UInt8])
        let fragments = ([0x02, 0x80] + mask + [0x80, 0x81] + mask + [0x79]) as [UInt8]
        let some = binary + ping + fragments + binary
        return Array(repeatElement(some, count: 500).joined())
    }()

    private func request(_ method: String, _ path: String, _ fields: String?) -> [UInt8] {
        Array("\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n\(fields.map { $0 + "\r\n" } ?? "")\r\n".utf8)
    }
}
