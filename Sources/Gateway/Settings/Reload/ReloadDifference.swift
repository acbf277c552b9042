/// The values of all settings, in a form in which two readings can be compared: each setting's text, and a hash of the
/// file that it names.
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

/// The differences between two readings of the settings, one line each, in the table's order. The lines hold no secrets
/// and nothing out of files.
package struct ReloadDifference: Sendable, Equatable {
    package struct Line: Sendable, Equatable, Codable, CustomStringConvertible {
        package let setting: String
        /// `10 -> 20`, or that the content of its file has changed.
        package let change: String

        package init(setting: String, change: String) {
            self.setting = setting
            self.change = change
        }

        package var description: String { "\(setting): \(change)" }
    }

    /// In effect from now on.
    package private(set) var applied: [Line] = []
    /// In effect after a restart. They are reported at each reload until then.
    package private(set) var needingRestart: [Line] = []

    /// - Parameters:
    ///   - pinned: parts of the gateway that the new settings would switch on or off.
    ///   - missing: those of them that they would switch on.
    package init(
        from old: SettingsInEffect, to new: SettingsInEffect, pinned: Set<SettingPart> = [],
        missing: Set<SettingPart> = [], table: SettingTable = GatewaySettings.table
    ) {
        for section in table.sections {
            let isPinned = section.part.map(pinned.contains) ?? section.neededPart.map(missing.contains) ?? false
            for row in section.settings.map(\.row) {
                guard let before = old[row.name], let value = new[row.name], before != value else { continue }
                let line = Line(setting: row.name, change: Self.change(row, before, value))
                if isPinned || row.reload == .restart { needingRestart.append(line) } else { applied.append(line) }
            }
        }
    }

    private static func change(
        _ row: SettingRow, _ old: SettingsInEffect.Value, _ new: SettingsInEffect.Value
    ) -> String {
        if row.isSecret { return "changed" }
        guard old.text != new.text else { return "the file has changed" }
        return "\(shown(old.text)) -> \(shown(new.text))"
    }

    private static func shown(_ text: String) -> String { text.isEmpty ? "(none)" : text }
}

/// The result of a reload.
package enum ReloadOutcome: Sendable, Equatable {
    case applied(ReloadDifference)
    /// Nothing was changed. Never empty.
    case refused([String])
}
