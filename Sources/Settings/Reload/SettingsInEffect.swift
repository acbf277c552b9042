/// The values of all settings, in a form in which two readings can be compared: each setting's text, and a hash of the file that it names.
package struct SettingsInEffect: Sendable {
    package struct Value: Sendable, Equatable {
        /// As `check-config` shows it: never a secret.
        package let text: String
        let fileHash: Int?
    }

    private var values: [String: Value]

    package init(_ loaded: LoadedConfiguration) {
        self.init(loaded.settings)
    }

    init(_ settings: [EffectiveSetting]) {
        let pairs = settings.map { ($0.row.name, Value(text: $0.value, fileHash: $0.fileHash)) }
        values = Dictionary(uniqueKeysWithValues: pairs)
    }

    package subscript(name: String) -> Value? { values[name] }

    /// The same, with the old values of the settings that need a restart.
    package func keeping(_ lines: [ReloadDifference.Line], of old: SettingsInEffect) -> SettingsInEffect {
        var copy = self
        for line in lines { copy.values[line.setting] = old[line.setting] }
        return copy
    }
}
