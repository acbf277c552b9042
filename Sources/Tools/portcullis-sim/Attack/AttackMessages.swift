/// The attackers' messages.
struct AttackMessages: Sendable {
    let authority: String
    /// A ticket for upgrades that must be admitted; nil if none is needed.
    let ticket: String?
    /// What admitted clients send.
    var flood = FrameFlood.mixed
    /// The route of sessions with a hostile MUD.
    var route = ""

    private static let key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    private static let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n"

    /// Each is of a different kind from the one before: no credentials, wrong ones of each kind, and malformed
    /// handshakes.
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

    /// Each is refused for a different reason from the one before, and none makes the gateway close the connection.
    /// There is no POST: libwebsockets 4.1.6 doesn't read a POST that arrives before the answer to the previous
    /// request.
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

    var goodUpgrade: [UInt8] { upgrade("/", dialect: "telnet", isCompressed: flood.isCompressed) }

    /// In a dialect that is translated.
    var upgradeToMud: [UInt8] { upgrade("/mud/\(route)", dialect: "gmcp.mudstandards.org", isCompressed: false) }

    private func upgrade(_ path: String, dialect: String, isCompressed: Bool) -> [UInt8] {
        let fields = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: \(dialect)\r\n" + Self.key
        let compression = isCompressed ? "\r\nSec-WebSocket-Extensions: permessage-deflate" : ""
        return request("GET", ticket.map { "\(path)?ticket=\($0)" } ?? path, Self.upgrade + fields + compression)
    }

    var challenge: [UInt8] { request("GET", "/attest/challenge", nil) }

    var beginningOfHeader: [UInt8] { Array("GET / HTTP/1.1\r\nX-Slow: ".utf8) }

    /// A TLS 1.2 record with the first bytes of a ClientHello of 508 bytes (RFC 8446 §4.1.2, §5.1).
    static let beginningOfHandshake: [UInt8] = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC, 0x03, 0x03]

    private func request(_ method: String, _ path: String, _ fields: String?) -> [UInt8] {
        Array("\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n\(fields.map { $0 + "\r\n" } ?? "")\r\n".utf8)
    }
}
