import KeyStore
import Observability
import WireText

/// A readable description of a key, and one for programs. Data from a device is escaped, since a terminal shows it.
struct KeyDescription {
    private let key: DeviceKey

    init(_ key: DeviceKey) {
        self.key = key
    }

    static func line(_ listed: ListedKey) -> String {
        switch listed {
        case .key(let key): KeyDescription(key).line
        case .damaged(let id): "\(id.base64)  damaged  portcullis store check says what is wrong with it"
        }
    }

    /// One object in one line, with the names that an export has.
    static func json(_ listed: ListedKey) -> String {
        switch listed {
        case .key(let key): return KeyDescription(key).json
        case .damaged(let id):
            var writer = JSONWriter()
            writer.member("key", id.base64)
            writer.member("state", "damaged")
            return String(decoding: writer.object, as: UTF8.self)
        }
    }

    var json: String {
        var writer = JSONWriter()
        writer.member("key", key.id.base64)
        writer.member("state", state)
        writer.member("app", key.app)
        writer.member("environment", key.environment)
        writer.member("counter", Int64(key.counter))
        writer.member("registeredAt", time(key.registeredAt))
        if let used = key.lastUsedAt { writer.member("lastUsedAt", time(used)) }
        if let revoked = key.revokedAt { writer.member("revokedAt", time(revoked)) }
        if let reason = key.revocationReason { writer.member("revocationReason", reason) }
        return String(decoding: writer.object, as: UTF8.self)
    }

    private var state: String { key.isErased ? "erased" : key.isRevoked ? "revoked" : "active" }

    /// Identifier, state, app, counter, last use.
    var line: String {
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
