import KeyStore
import Observability
import WireText

/// A readable description of an account, and one for programs. Labels are players' own words, so they are escaped.
struct AccountDescription {
    private let account: Account

    init(_ account: Account) { self.account = account }

    private var state: String { account.isClosed ? "closed" : "open" }

    /// Identifier, state, how it began, what it has, last sign-in.
    var line: String {
        "\(account.id)  \(state)  began by \(account.origin.kind)  passkeys \(account.passkeys.count)"
            + "  devices \(account.devices.count)  last used \(Self.time(account.lastUsedAt))"
    }

    var full: String {
        var rows = [
            ("account", account.id.text), ("state", state), ("began by", "\(account.origin.kind)"),
            ("made", Self.time(account.madeAt)), ("last used", Self.time(account.lastUsedAt)),
        ]
        if let closed = account.closedAt { rows.append(("closed", Self.time(closed))) }
        rows += account.passkeys.map { passkey in
            let place = passkey.isBackupEligible ? "may be backed up" : "on one device"
            let backup = passkey.isBackedUp ? "backed up" : place
            return (
                "passkey",
                "\(passkey.credentialID.base64URL)  \(EscapedText(passkey.label))  \(backup), attestation"
                    + " \(EscapedText(passkey.attestation)), counter \(passkey.signCount), made"
                    + " \(Self.time(passkey.madeAt)), last used \(Self.time(passkey.lastUsedAt))"
            )
        }
        rows += account.devices.map { device in
            ("device", "\(device.key.base64)  \(EscapedText(device.label))  joined \(Self.time(device.joinedAt))")
        }
        return rows.map { "\($0.0): \($0.1)" }.joined(separator: "\n")
    }

    // MARK: JSON

    /// One object in one line, with how many passkeys and devices there are.
    var summary: String {
        var writer = head
        writer.member("passkeys", Int64(account.passkeys.count))
        writer.member("devices", Int64(account.devices.count))
        return String(decoding: writer.object, as: UTF8.self)
    }

    /// One object in one line, with all.
    var json: String {
        var writer = head
        writer.member("passkeys", json: account.passkeys.map(Self.object))
        writer.member("devices", json: account.devices.map(Self.object))
        return String(decoding: writer.object, as: UTF8.self)
    }

    private var head: JSONWriter {
        var writer = JSONWriter()
        writer.member("account", account.id.text)
        writer.member("state", state)
        writer.member("origin", "\(account.origin.kind)")
        writer.member("madeAt", Self.time(account.madeAt))
        if let used = account.lastUsedAt { writer.member("lastUsedAt", Self.time(used)) }
        if let closed = account.closedAt { writer.member("closedAt", Self.time(closed)) }
        return writer
    }

    private static func object(_ passkey: Passkey) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("id", passkey.credentialID.base64URL)
        writer.member("label", passkey.label)
        writer.member("attestation", passkey.attestation)
        writer.member("aaguid", Hexadecimal.encode(passkey.aaguid))
        writer.member("counter", Int64(passkey.signCount))
        writer.member("isBackupEligible", passkey.isBackupEligible)
        writer.member("isBackedUp", passkey.isBackedUp)
        writer.member("isUserVerified", passkey.isUserVerified)
        writer.member("madeAt", time(passkey.madeAt))
        if let used = passkey.lastUsedAt { writer.member("lastUsedAt", time(used)) }
        return writer.object
    }

    private static func object(_ device: AccountDevice) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("key", device.key.base64)
        writer.member("label", device.label)
        writer.member("joinedAt", time(device.joinedAt))
        return writer.object
    }

    private static func time(_ milliseconds: Int64?) -> String {
        milliseconds.map { "\(Timestamp(unixMilliseconds: $0))" } ?? "never"
    }
}

extension [UInt8] {
    fileprivate var base64URL: String { Base64URL.encode(self) }
}
