/// The values that were read, by the settings' names.
struct SettingValues: Sendable {
    private var values: [String: any SettingValue] = [:]

    subscript(name: String) -> (any SettingValue)? {
        get { values[name] }
        set { values[name] = newValue }
    }

    /// - Precondition: the setting was read.
    subscript<Value, Change>(setting: Setting<Value, Change>) -> Value {
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
///
/// `Access` says which of them can be read: those that a reload changes, those that a process has once, or all of them.
@dynamicMemberLookup
package struct ValuesOfSection<Section: SettingSection, Access>: Sendable {
    fileprivate let section: Section
    fileprivate let values: SettingValues

    init(_ section: Section, _ values: SettingValues) {
        self.section = section
        self.values = values
    }

    package subscript<Value>(dynamicMember setting: KeyPath<Section, LiveSetting<Value>>) -> Value
    where Access: ReadsLiveSettings { values[section[keyPath: setting]] }

    package subscript<Value>(dynamicMember setting: KeyPath<Section, StartSetting<Value>>) -> Value
    where Access: ReadsStartSettings { values[section[keyPath: setting]] }
}

package protocol ReadsLiveSettings {}
package protocol ReadsStartSettings {}

/// What a reload reads.
package enum LiveAccess: ReadsLiveSettings {}
/// What a process reads once.
package enum StartAccess: ReadsStartSettings {}
/// For the rules, and for tools, which read the settings once.
package enum EveryAccess: ReadsLiveSettings, ReadsStartSettings {}

package typealias LiveValues<Section: SettingSection> = ValuesOfSection<Section, LiveAccess>
package typealias StartValues<Section: SettingSection> = ValuesOfSection<Section, StartAccess>
package typealias SectionValues<Section: SettingSection> = ValuesOfSection<Section, EveryAccess>

extension SectionValues {
    /// Those that a reload would change.
    package var live: LiveValues<Section> { LiveValues(section, values) }
}
