/// What the operator has decided, in a form that two readings can be compared in: each setting's text, and of those that name a file
/// whether it holds the same.
struct SettingsInEffect: Sendable {
    struct Value: Sendable, Equatable {
        /// As `check-config` shows it: no secret.
        let text: String
        /// Tells one content from another within this process, and nothing of it; nil where no file is named, or it can't be read.
        let contents: Int?
    }

    /// Of the largest file that any setting may name.
    private static let maximumBytes = 16_777_216

    /// In the table's order.
    private(set) var values: [(row: SettingRow, value: Value)]

    init(_ loaded: LoadedConfiguration) {
        let paths = loaded.configuration.files
        values = loaded.settings.map { setting in
            let path = Self.lists.contains(setting.row.name) ? setting.value : paths[setting.row.name]
            let contents = path.flatMap { Self.digest($0) }
            return (setting.row, Value(text: setting.value, contents: contents))
        }
    }

    subscript(name: String) -> Value? {
        get { values.first { $0.row.name == name }?.value }
        set {
            guard let newValue, let index = values.firstIndex(where: { $0.row.name == name }) else { return }
            values[index].value = newValue
        }
    }

    /// Files that the configuration has read already: their paths stand in the settings alone.
    private static let lists = [SettingTable.sharedSecretsPath.row.name, SettingTable.blockListPath.row.name]

    private static func digest(_ path: String) -> Int? {
        guard let text = try? ConfigurationLoadingFile.text(path, maximumBytes: maximumBytes) else { return nil }
        var hasher = Hasher()
        hasher.combine(text)
        return hasher.finalize()
    }
}

extension GatewayConfiguration {
    /// The files that a reload reads again, by their setting.
    fileprivate var files: [String: String] {
        let files: [(SettingRow, String?)] = [
            (SettingTable.certificatePath.row, listener.tls?.certificatePath),
            (SettingTable.keyPath.row, listener.tls?.keyPath),
            (SettingTable.clientCAPath.row, clientCertificates?.authorityPath),
            (SettingTable.clientCRLPath.row, clientCertificates?.revocationListPath),
            (SettingTable.targetCAPath.row, target.tls.authorityPath),
            (SettingTable.rootPath.row, appAttest?.customRoot?.path),
        ]
        return Dictionary(uniqueKeysWithValues: files.compactMap { row, path in path.map { (row.name, $0) } })
    }
}
