import WireText

/// Where a gateway's keys are, as the settings say.
package enum StoreLocation: Sendable, Equatable {
    /// An SQLite file.
    case file(path: String)
    case database(FleetStoreConfiguration)
}

/// The database that a fleet shares, with what the gateway needs to use it.
package struct FleetStoreConfiguration: Sendable, Equatable {
    package let url: StoreURL
    /// Secret.
    private let password: String?
    /// Secret: the keys of the secrets in the store, 32 bytes each. The first one encrypts.
    package let secretKeys: [[UInt8]]
    package let timeoutMilliseconds: Int

    /// Connections of a gateway to the database; half of them are for statements that wait for the disk.
    package static let connections = 4

    init(
        url: StoreURL, password: String?, secretKeys: [[UInt8]], timeoutMilliseconds: Int
    ) {
        (self.url, self.password, self.secretKeys) = (url, password, secretKeys)
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// For libpq; with the password.
    package var connectionParameters: [String: String] {
        var parameters = url.connectionParameters
        parameters["password"] = password
        return parameters
    }
}

extension FleetStoreConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        "\(url.database) on \(url.hosts.map { "\($0.text):\($0.port)" }.joined(separator: ", "))"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ConfigurationLoader {
    private static let maximumPasswordBytes = 1_024
    private static let maximumKeyFileBytes = 4_096
    private static let (maximumKeys, keyBytes) = (8, 32)

    /// Nil without STORE_URL, and after an error.
    mutating func fleetStore() -> FleetStoreConfiguration? {
        let section = settings.keyStore
        guard let url = read(section.url) else {
            for setting in [section.passwordPath, section.secretsKeyPath] where read(setting) != nil {
                warn(setting, "has no effect without STORE_URL.")
            }
            return nil
        }
        if isSet(section.path) {
            refuse(
                section.url, "is set, and so is ATTESTED_KEYS_PATH",
                "Remove one of them: a gateway has one store, in a fleet STORE_URL.",
                involving: [section.path])
        }
        checkTransport(of: url)
        let (password, keys) = (storePassword(), storeKeys())
        guard let keys else { return nil }
        return FleetStoreConfiguration(
            url: url, password: password, secretKeys: keys,
            timeoutMilliseconds: read(section.timeoutMilliseconds))
    }

    private mutating func checkTransport(of url: StoreURL) {
        let section = settings.keyStore
        guard !url.isVerified else { return }
        guard read(section.allowsUnverifiedTLS) else {
            return refuse(
                section.url, "doesn't verify a server on another machine",
                "Leave `sslmode` out, or write `sslmode=verify-full`; ALLOW_INSECURE_STORE_TLS=true allows it all the same.",
                involving: [section.allowsUnverifiedTLS])
        }
        warn(section.url, "doesn't verify the server: whoever is between can read and change what is stored.")
    }

    private mutating func storePassword() -> String? {
        let setting = settings.keyStore.passwordPath
        guard let path = read(setting) else { return nil }
        warnIfReadable(setting, path)
        guard let text = text(of: setting, path, maximumBytes: Self.maximumPasswordBytes) else { return nil }
        let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
        guard !line.isEmpty, !line.contains(where: \.isNewline), !line.contains("\0") else {
            fail(setting, "names a file that isn't one line", "Write only the password.")
            return nil
        }
        return line
    }

    private mutating func storeKeys() -> [[UInt8]]? {
        let setting = settings.keyStore.secretsKeyPath
        guard let path = read(setting) else {
            refuse(
                setting, "isn't set", "STORE_URL needs it: secrets in the database are encrypted.",
                involving: [settings.keyStore.url])
            return nil
        }
        warnIfReadable(setting, path)
        guard let text = text(of: setting, path, maximumBytes: Self.maximumKeyFileBytes) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("#") }
        let keys = lines.compactMap { Hexadecimal.decode(String($0), count: Self.keyBytes) }
        guard keys.count == lines.count, (1...Self.maximumKeys).contains(keys.count) else {
            fail(
                setting, "names a file that has something else than 1 to \(Self.maximumKeys) keys",
                "Make one with `openssl rand -hex 32`, and write each in a line.")
            return nil
        }
        return keys
    }

    private mutating func warnIfReadable(_ setting: StartSetting<String?>, _ path: String) {
        guard NamedFile.isReadableByEverybody(path) else { return }
        warn(setting, "everybody on this machine can read the secret: chmod o= it.")
    }
}
