import Crypto
import Foundation

/// An upgrade request as text: every part of it can be omitted, repeated or malformed.
package struct Handshake: Sendable {
    package var method = "GET"
    package var path = "/"
    package var httpVersion = "HTTP/1.1"
    package private(set) var headers: [(name: String, value: String)]

    /// A valid request by RFC 6455 section 4.1, with a random key.
    package init(host: String = "localhost") {
        var random = SystemRandomNumberGenerator()
        let key = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        headers = [
            ("Host", host), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", Data(key).base64EncodedString()), ("Sec-WebSocket-Version", "13"),
        ]
    }

    package var text: String {
        "\(method) \(path) \(httpVersion)\r\n" + headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    }

    /// The required value of `Sec-WebSocket-Accept` (RFC 6455 section 4.2.2, step 5.4).
    package var expectedAccept: String? {
        guard let key = headers.first(where: { $0.name == "Sec-WebSocket-Key" })?.value else { return nil }
        let digest = Insecure.SHA1.hash(data: Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))
        return Data(digest).base64EncodedString()
    }

    /// A copy with this as the only header of its name; nil removes the header.
    package func setting(_ name: String, _ value: String?) -> Handshake {
        var changed = self
        changed.headers.removeAll { $0.name.lowercased() == name.lowercased() }
        if let value { changed.headers.append((name, value)) }
        return changed
    }

    /// A copy with one more header, even if the name already exists.
    package func adding(_ name: String, _ value: String) -> Handshake {
        var changed = self
        changed.headers.append((name, value))
        return changed
    }

    package func adding(_ more: [String: String]) -> Handshake {
        more.sorted { $0.key < $1.key }.reduce(self) { $0.adding($1.key, $1.value) }
    }

    package func method(_ method: String) -> Handshake {
        var changed = self
        changed.method = method
        return changed
    }

    package func httpVersion(_ version: String) -> Handshake {
        var changed = self
        changed.httpVersion = version
        return changed
    }

    package func path(_ path: String) -> Handshake {
        var changed = self
        changed.path = path
        return changed
    }

    package func offering(_ subprotocols: String...) -> Handshake {
        setting("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))
    }
}
