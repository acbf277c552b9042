/// The kinds of settings. Each makes the text of the allowed values from the same range or type that it parses with.
extension Setting where Value == Int {
    static func integer(
        _ name: String, default defaultValue: Int, _ range: ClosedRange<Int>, _ unit: String, _ meaning: String,
        details: String = ""
    ) -> Self {
        Self(
            row: SettingRow(
                name: name, defaultText: String(defaultValue), values: SettingRow.values(unit, range), meaning: meaning,
                details: details, reload: Change.reload),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in try SettingGrammar.integer(text, in: range) })
    }
}

extension Setting where Value == Int? {
    /// A number without a default.
    static func number(
        _ name: String, _ range: ClosedRange<Int>, _ unit: String, _ meaning: String, details: String = ""
    ) -> Self {
        Self(
            row: SettingRow(
                name: name, defaultText: "", values: SettingRow.values(unit, range), meaning: meaning, details: details,
                reload: Change.reload),
            defaultValue: nil,
            parse: { (text: String) throws(SettingProblem) in try SettingGrammar.integer(text, in: range) })
    }

    /// A limit. 0 means no limit: the value is nil.
    static func limit(
        _ name: String, default defaultValue: Int, _ unit: String, _ meaning: String, details: String = ""
    ) -> Self {
        let range = 0...1_000_000_000
        return Self(
            row: SettingRow(
                name: name, defaultText: String(defaultValue), values: SettingRow.values(unit, range), meaning: meaning,
                details: details, reload: Change.reload),
            defaultValue: defaultValue, parse: zeroIsNil(range))
    }

    /// A number that depends on the machine unless it is set. 0 is the default and means `figure`: the value is nil.
    static func derived(
        _ name: String, from figure: MachineFigure, _ range: ClosedRange<Int>, _ unit: String, _ meaning: String,
        details: String = ""
    ) -> Self {
        var row = SettingRow(
            name: name, defaultText: "0", values: SettingRow.values(unit, range), meaning: meaning, details: details,
            reload: Change.reload)
        row.derived = figure
        return Self(row: row, defaultValue: nil, parse: zeroIsNil(range))
    }

    private static func zeroIsNil(
        _ range: ClosedRange<Int>
    ) -> @Sendable (String) throws(SettingProblem) -> Int? {
        { (text: String) throws(SettingProblem) in
            let value = try SettingGrammar.integer(text, in: range)
            return value == 0 ? nil : value
        }
    }
}

extension Setting where Value == Bool {
    static func boolean(
        _ name: String, default defaultValue: Bool, _ meaning: String, details: String = ""
    ) -> Self {
        Self(
            row: SettingRow(
                name: name, defaultText: String(defaultValue), values: "`true` or `false`", meaning: meaning,
                details: details, reload: Change.reload),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in try SettingGrammar.boolean(text) })
    }
}

extension Setting where Value: CaseIterable & RawRepresentable<String> {
    /// One of the type's cases.
    ///
    /// - Parameter ignoresCase: whether upper-case letters are accepted; the raw values are lower-case then.
    static func choice(
        _ name: String, default defaultValue: Value, ignoresCase: Bool = false, _ meaning: String,
        details: String = ""
    ) -> Self {
        let values = Value.allCases.map { "`" + $0.rawValue + "`" }.joined(separator: ", ")
        return Self(
            row: SettingRow(
                name: name, defaultText: defaultValue.rawValue, values: values, meaning: meaning, details: details,
                reload: Change.reload),
            defaultValue: defaultValue,
            parse: { (text: String) throws(SettingProblem) in
                guard let value = Value(rawValue: ignoresCase ? text.lowercased() : text) else {
                    throw SettingProblem(problem: "has an unknown value", remedy: "Choose one of \(values).")
                }
                return value
            })
    }
}

extension Setting where Value == String? {
    /// The path of a file. The text is checked here; the file is checked by the rules that use it.
    static func path(
        _ name: String, _ values: String, _ meaning: String, details: String = ""
    ) -> Self {
        text(name, default: nil, values, meaning, details: details, SettingGrammar.path)
    }
}

extension Setting {
    /// A text with its own grammar.
    ///
    /// - Parameter defaultText: the default as it is written in an environment file; empty if nothing is set.
    static func text(
        _ name: String, default defaultValue: Value, written defaultText: String = "", _ values: String,
        _ meaning: String,
        details: String = "",
        _ parse: @escaping @Sendable (String) throws(SettingProblem) -> Value
    ) -> Self {
        Self(
            row: SettingRow(
                name: name, defaultText: defaultText, values: values, meaning: meaning, details: details,
                reload: Change.reload
            ),
            defaultValue: defaultValue, parse: parse)
    }

    /// The same setting, which is accepted under another name too.
    func alsoSpelled(_ name: String) -> Self {
        var copy = self
        copy.row.spellings.append(name)
        return copy
    }

    /// The same setting, without which `serve` fails.
    func required() -> Self {
        var copy = self
        copy.row.isRequired = true
        return copy
    }
}

extension SettingRow {
    fileprivate static func values(_ unit: String, _ range: ClosedRange<Int>) -> String {
        "\(unit), \(range.lowerBound)–\(range.upperBound)"
    }
}
