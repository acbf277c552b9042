package import KeyStore
import Observability
import WireText

/// A development token for the operator: as a line, as JSON, and the words of both for the console.
package struct DevelopmentTokenDescription {
    package let token: DevelopmentToken
    /// At a time.
    package let state: String

    /// - Parameter time: Unix milliseconds.
    package init(_ token: DevelopmentToken, at time: Int64) {
        self.token = token
        state =
            switch token.status(at: time) {
            case .granted: "valid"
            case .refused(.revoked): "revoked"
            case .refused: "expired"
            }
    }

    package var issued: String { shown(token.issuedAt) }
    package var expires: String { shown(token.expiresAt) }
    package var lastUsed: String? { token.lastUsedAt.map(shown) }
    package var revoked: String? { token.revokedAt.map(shown) }

    private func shown(_ milliseconds: Int64) -> String { "\(Timestamp(unixMilliseconds: milliseconds))" }

    package var line: String {
        let routes = token.routes?.joined(separator: ",") ?? "all"
        return "\(token.id)  \(state)  \(EscapedText(token.name))  until \(expires)"
            + "  devices \(token.devices)/\(token.maximumDevices)  routes \(EscapedText(routes))"
            + "  last used \(lastUsed ?? "never")"
    }

    /// One object in one line.
    package var json: String {
        var writer = JSONWriter()
        writer.member("id", token.id.text)
        writer.member("state", state)
        writer.member("name", token.name)
        writer.member("issuedAt", issued)
        writer.member("expiresAt", expires)
        writer.member("devices", Int64(token.devices))
        writer.member("maximumDevices", Int64(token.maximumDevices))
        if let routes = token.routes { writer.member("routes", routes) }
        if let lastUsed { writer.member("lastUsedAt", lastUsed) }
        if let revoked { writer.member("revokedAt", revoked) }
        return String(decoding: writer.object, as: UTF8.self)
    }
}
