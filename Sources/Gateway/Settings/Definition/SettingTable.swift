/// Settings that belong together: one heading of the documentation and of the example file. Its settings are its stored
/// properties of type ``Setting``, in their order.
package protocol SettingSection: Sendable {
    static var title: String { get }
    /// The part of the gateway that these settings configure, if that part can't be switched on or off by a reload.
    static var part: SettingPart? { get }
    /// The part without which these settings have no effect.
    static var neededPart: SettingPart? { get }
}

extension SettingSection {
    package static var part: SettingPart? { nil }
    package static var neededPart: SettingPart? { nil }
}

/// Parts of the gateway that only a restart switches on or off. A reload that asks for it changes none of their
/// settings.
package enum SettingPart: Sendable {
    case appAttest
    case clientTLS
    case internalTLS
}

/// All settings of some sections, found by reflection, so that a definition is in no second list.
package struct SettingTable: Sendable {
    package struct Section: Sendable {
        package let title: String
        package let part, neededPart: SettingPart?
        package let settings: [any AnySetting]

        init(_ section: some SettingSection) {
            title = type(of: section).title
            part = type(of: section).part
            neededPart = type(of: section).neededPart
            settings = Mirror(reflecting: section).children.compactMap { $0.value as? any AnySetting }
        }
    }

    package let sections: [Section]
    package let names: Set<String>
    /// The settings' names, by their other spellings.
    package let spellings: [String: String]

    package init(_ sections: [any SettingSection]) {
        self.sections = sections.map { Section($0) }
        let rows = self.sections.flatMap(\.settings).map(\.row)
        names = Set(rows.map(\.name))
        spellings = Dictionary(uniqueKeysWithValues: rows.flatMap { row in row.spellings.map { ($0, row.name) } })
    }

    /// - Parameter group: a structure whose stored properties are sections.
    init(reflecting group: some Sendable) {
        self.init(Mirror(reflecting: group).children.compactMap { $0.value as? any SettingSection })
    }

    /// Whether a setting has this name, or is accepted under it.
    func accepts(_ name: String) -> Bool { names.contains(name) || spellings[name] != nil }

    package var rows: [SettingRow] { sections.flatMap(\.settings).map(\.row) }
}
