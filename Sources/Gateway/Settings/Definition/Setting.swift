/// The definition of one setting: everything that parsing, `check-config`, the example file, the documentation and the
/// reload need.
///
/// A setting is defined once, as a property of a ``SettingSection``. To add one, add the property. Its type says when a
/// change takes effect, and with it where the value can be read: a ``LiveSetting`` in
/// `configuration.live.<section>.<property>`, which each reload makes anew, and a ``StartSetting`` in
/// `configuration.atStart.<section>.<property>`, which a process has once.
package struct Setting<Value: Sendable & Equatable, Change: SettingChange>: Sendable {
    package var row: SettingRow
    package let defaultValue: Value
    let parse: @Sendable (String) throws(SettingProblem) -> Value

    package var name: String { row.name }
}

/// The part of a definition that doesn't depend on the type of the value.
package struct SettingRow: Sendable, Equatable {
    /// The name of the environment variable.
    package let name: String
    /// Other names of it that are accepted, such as those of mud-web-proxy.
    package var spellings: [String] = []
    /// The default as it is written in an environment file; empty if there is none.
    package let defaultText: String
    /// Unit and range, or the allowed values.
    package let values: String
    /// One or two sentences, for the tables of `docs/CONFIGURATION.md` and for errors.
    package let meaning: String
    /// Further paragraphs for the example file, one a line. A line that begins with a space is copied as it is.
    package let details: String
    /// Follows from the type of the setting.
    package let reload: SettingReload
    /// What a value of 0 means on this machine; nil if 0 has no such meaning.
    package var derived: MachineFigure?
    /// Whether `serve` fails without it.
    package var isRequired = false
    /// Whether its value is never shown. No setting of the gateway is secret: secrets are in files.
    package var isSecret = false
}

/// When a changed value takes effect.
package enum SettingReload: String, Sendable {
    /// With the next reload.
    case live
    /// With the next start. A reload keeps the old value and reports the difference.
    case restart
}

/// ``SettingReload`` as a type, so that a value can't be read where a change of it would have no effect.
package protocol SettingChange {
    static var reload: SettingReload { get }
}

package enum LiveChange: SettingChange {
    package static let reload = SettingReload.live
}

package enum StartChange: SettingChange {
    package static let reload = SettingReload.restart
}

package typealias LiveSetting<Value: Sendable & Equatable> = Setting<Value, LiveChange>
package typealias StartSetting<Value: Sendable & Equatable> = Setting<Value, StartChange>

/// A setting whose value type is not known here.
package protocol AnySetting: Sendable {
    var row: SettingRow { get }

    /// The value of a setting that isn't set.
    var unsetValue: any SettingValue { get }

    func value(of text: String) throws(SettingProblem) -> any SettingValue
}

extension Setting: AnySetting {
    package var unsetValue: any SettingValue { TypedValue(value: defaultValue) }

    package func value(of text: String) throws(SettingProblem) -> any SettingValue {
        TypedValue(value: try parse(text))
    }
}

/// The value of a setting whose type is not known here.
package protocol SettingValue: Sendable {
    func isEqual(to other: any SettingValue) -> Bool
}

struct TypedValue<Value: Sendable & Equatable>: SettingValue {
    let value: Value

    func isEqual(to other: any SettingValue) -> Bool {
        (other as? Self)?.value == value
    }
}

/// Why a text is not a value of its setting. It never quotes the text, which may be a secret.
package struct SettingProblem: Error, Equatable {
    /// Follows the setting's name: "isn't a whole number".
    package let problem: String
    /// A sentence that says what to do.
    package let remedy: String

    package init(problem: String, remedy: String) {
        self.problem = problem
        self.remedy = remedy
    }
}
