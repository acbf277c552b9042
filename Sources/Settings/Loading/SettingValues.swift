/// The values that were read, by the settings' names.
struct SettingValues: Sendable {
    private var values: [String: any SettingValue] = [:]

    subscript(name: String) -> (any SettingValue)? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// - Precondition: the setting was read.
    subscript<Value>(setting: Setting<Value>) -> Value {
        guard let typed = values[setting.name] as? TypedValue<Value> else {
            preconditionFailure("\(setting.name) is used before it is read.")
        }
        return typed.value
    }
}

extension SettingValues: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        left.values.count == right.values.count
            && left.values.allSatisfy { name, value in right.values[name].map(value.isEqual) ?? false }
    }
}

/// The values of one section: `values.port` is the value of the section's setting `port`.
@dynamicMemberLookup
package struct SectionValues<Section: SettingSection>: Sendable {
    private let section: Section
    private let values: SettingValues

    init(_ section: Section, _ values: SettingValues) {
        self.section = section
        self.values = values
    }

    package subscript<Value>(dynamicMember setting: KeyPath<Section, Setting<Value>>) -> Value {
        values[section[keyPath: setting]]
    }
}
