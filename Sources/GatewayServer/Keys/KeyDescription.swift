import FoundationEssentials
import KeyStore
import Observability
import WireText

/// A readable description of a key. Data from a device is escaped, since a terminal shows it.
struct KeyDescription {
    private let key: DeviceKey

    init(_ key: DeviceKey) {
        self.key = key
    }

    /// Identifier, state, app, counter, last use.
    var line: String {
        let state = key.isRevoked ? "revoked" : "active"
        return
            "\(key.id.base64)  \(state)  \(EscapedText(key.app))  counter \(key.counter)  last used \(time(key.lastUsedAt))"
    }

    var full: String {
        var rows = [
            ("key", key.id.base64), ("app", "\(EscapedText(key.app))"),
            ("environment", "\(EscapedText(key.environment))"),
            ("trust root", Hexadecimal.encode(key.trustRoot)), ("counter", "\(key.counter)"),
            ("registered", time(key.registeredAt)), ("last used", time(key.lastUsedAt)),
            ("receipt", "\(key.receipt.count) bytes"),
        ]
        if let category = key.validationCategory { rows.append(("validation category", "\(category)")) }
        if let version = key.bundleVersion { rows.append(("bundle version", "\(EscapedText(version))")) }
        if let revokedAt = key.revokedAt {
            rows.append(("revoked", "\(time(revokedAt)): \(EscapedText(key.revocationReason ?? ""))"))
        }
        return rows.map { "\($0.0): \($0.1)" }.joined(separator: "\n")
    }

    private func time(_ milliseconds: Int64?) -> String {
        milliseconds.map { "\(Timestamp(unixMilliseconds: $0))" } ?? "never"
    }
}
