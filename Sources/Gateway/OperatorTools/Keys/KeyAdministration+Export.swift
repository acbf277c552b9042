package import FoundationEssentials
import KeyStore
import Observability
import RelayCore
import StrictJSON
import WireText

extension KeyAdministration {
    /// Writes one JSON object with all that is kept about a device: its key in the store, the account that it has
    /// joined, its places on development tokens, and the lines of the audit log that name it.
    ///
    /// - Parameters:
    ///   - keyID: the key's identifier, or the thumbprint of a device's key that used development tokens.
    ///   - auditFiles: searched in this order, plain or packed with gzip. All are opened before anything is written.
    ///   - write: receives the object in pieces.
    /// - Returns: whether anything was found.
    package func export(
        _ keyID: String, at time: Date, auditFiles: [String], _ write: (String) -> Void
    ) async throws(OperatorError) -> Bool {
        let id = try parse(keyID)
        let files = try auditErrors { () throws(AuditFileError) in
            try auditFiles.map { path throws(AuditFileError) in try AuditFile(path: path) }
        }
        let (key, places) = try await administrationErrors { () async throws(KeyRegistryError) in
            (try await store.key(id), try await store.places(ofDevice: id))
        }
        let export = DeviceExport(id: id, time: Timestamp(unixMilliseconds: Int64(time.timeIntervalSince1970 * 1_000)))
        let membership = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.membership(of: id)
        }
        write(export.head(key, membership, places))
        var found = 0
        for file in files {
            var search = LineSearch(words: export.names)
            func show(_ match: LineSearch.Match) {
                write((found == 0 ? "\n" : ",\n") + export.line(match, in: file.path))
                found += 1
            }
            try auditErrors { () throws(AuditFileError) in try file.read { search.feed($0).forEach(show) } }
            if let last = search.finish() { show(last) }
        }
        write("]}\n")
        return key != nil || membership != nil || !places.isEmpty || found > 0
    }
}

extension AccountStore {
    fileprivate func membership(
        of key: KeyID
    ) async throws(KeyRegistryError) -> (account: AccountID, device: AccountDevice)? {
        guard let id = try await account(ofDevice: key),
            let device = try await account(id)?.devices.first(where: { $0.key == key })
        else { return nil }
        return (id, device)
    }
}

private func auditErrors<Result>(
    _ body: () throws(AuditFileError) -> Result
) throws(OperatorError) -> Result {
    do throws(AuditFileError) { return try body() } catch { throw .auditFile(error) }
}

extension OperatorError {
    static func auditFile(_ error: AuditFileError) -> OperatorError {
        OperatorError("an audit log can't be read: \(error)", hint: "name other files with --audit-file.")
    }
}

/// The form of an export.
private struct DeviceExport {
    let id: KeyID
    let time: Timestamp

    /// How the audit log may name the device: a key's identifier is written in base64, a thumbprint in base64url;
    /// without padding, which other programs may have left out.
    var names: [String] { [String(id.base64.dropLast()), thumbprint] }

    private var thumbprint: String { Base64URL.encode(id.bytes) }

    /// All but the lines of the audit log, which follow in an array.
    func head(
        _ key: DeviceKey?, _ membership: (account: AccountID, device: AccountDevice)?, _ places: [DevelopmentPlace]
    ) -> String {
        var writer = JSONWriter()
        writer.member("exportedAt", time.description)
        writer.member("key", id.base64)
        writer.member("thumbprint", thumbprint)
        writer.member("registration", json: key.map(registration) ?? Array("null".utf8))
        if let membership { writer.member("account", json: joined(membership.device, membership.account)) }
        writer.member("developmentTokens", json: places.map(place))
        return String(decoding: writer.bytes, as: UTF8.self) + ",\"audit\":["
    }

    private func registration(_ key: DeviceKey) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("publicKey", Base64.encode(key.publicKeyX963))
        writer.member("app", key.app)
        writer.member("environment", key.environment)
        writer.member("trustRoot", Hexadecimal.encode(key.trustRoot))
        writer.member("counter", Int64(key.counter))
        writer.member("receipt", Base64.encode(key.receipt))
        if let category = key.validationCategory { writer.member("validationCategory", Int64(category)) }
        if let version = key.bundleVersion { writer.member("bundleVersion", version) }
        writer.member("registeredAt", shown(key.registeredAt))
        if let time = key.lastUsedAt { writer.member("lastUsedAt", shown(time)) }
        if let time = key.revokedAt { writer.member("revokedAt", shown(time)) }
        if let reason = key.revocationReason { writer.member("revocationReason", reason) }
        return writer.object
    }

    private func joined(_ device: AccountDevice, _ account: AccountID) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("account", account.text)
        writer.member("label", device.label)
        writer.member("joinedAt", shown(device.joinedAt))
        return writer.object
    }

    private func place(_ place: DevelopmentPlace) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("token", place.token.text)
        writer.member("name", place.name)
        writer.member("firstUsedAt", shown(place.firstUsedAt))
        writer.member("lastUsedAt", shown(place.lastUsedAt))
        return writer.object
    }

    /// A whole line is JSON itself; one that a full disk has torn is given as text.
    func line(_ match: LineSearch.Match, in path: String) -> String {
        var writer = JSONWriter()
        writer.member("file", path)
        writer.member("line", Int64(match.number))
        if JSONReader.isValid(match.bytes[...]) {
            writer.member("entry", json: match.bytes)
        } else {
            writer.member("text", String(decoding: match.bytes, as: UTF8.self))
        }
        return String(decoding: writer.object, as: UTF8.self)
    }

    private func shown(_ milliseconds: Int64) -> String { Timestamp(unixMilliseconds: milliseconds).description }
}
