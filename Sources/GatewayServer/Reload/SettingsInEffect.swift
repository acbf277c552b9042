/// What the operator has decided, in a form that two readings can be compared in: each setting's text, and of those that name a file
/// whether it holds the same.
struct SettingsInEffect: Sendable {
    struct Value: Sendable, Equatable {
        /// As `check-config` shows it: no secret.
        let text: String
        /// Tells one content from another within this process, and nothing of it; nil where no file is named, or it can't be read.
        let contents: Int?
    }

    /// In the table's order.
    private(set) var values: [(row: SettingRow, value: Value)]

    init(_ loaded: LoadedConfiguration) {
        let paths = loaded.configuration.files
        values = loaded.settings.map { setting in
            let contents = paths[setting.row.name].flatMap { Self.digest($0) }
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

    private static func digest(_ path: String) -> Int? {
        guard let text = try? ConfigurationLoadingFile.text(path) else { return nil }
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
            (SettingTable.sharedSecretsPath.row, gate.sharedSecretsPath),
            (SettingTable.blockListPath.row, gate.blockListPath),
            (SettingTable.rootPath.row, appAttest?.customRoot?.path),
        ]
        return Dictionary(uniqueKeysWithValues: files.compactMap { row, path in path.map { (row.name, $0) } })
    }
}
