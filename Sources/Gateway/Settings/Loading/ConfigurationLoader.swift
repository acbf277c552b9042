import FoundationEssentials
import Observability

/// One run of loading: it reads settings and gathers what is wrong on the way.
struct ConfigurationLoader {
    let now: Date
    private(set) var errors: [ConfigurationError] = []
    private(set) var warnings: [ConfigurationWarning] = []

    private(set) var values = SettingValues()
    /// Settings whose own value is wrong. Rules that involve one of them are skipped: what they would report follows
    /// from an error that is reported already.
    private(set) var namesFailed: Set<String> = []
    private let table: SettingTable
    private var environment: [String: String]
    private var fileValues: [String: String]
    /// The names under which settings were written, if they aren't their own.
    private var writtenNames: [String: String] = [:]
    private var fileLines: [String: Int] = [:]
    private var fileHashes: [String: Int] = [:]
    private let filePath: String?
    /// Why the environment file can't be read at all.
    private var fileError: ConfigurationError?

    init(
        environment: [String: String], environmentFile: String?, now: Date, table: SettingTable = GatewaySettings.table
    ) {
        self.now = now
        self.table = table
        self.environment = environment
        filePath = environmentFile
        let file = environmentFile.map(Self.contents)
        let settingFile = (try? file?.get()).map { SettingFile($0) } ?? SettingFile("")
        fileValues = Dictionary(settingFile.entries.map { ($0.name, $0.value) }) { first, _ in first }
        if case .failure(let problem) = file { refuseFile(problem) }
        noteFaults(of: settingFile)
        noteUnknownNames(in: settingFile)
        for (spelling, name) in table.spellings.sorted(by: { $0.key < $1.key }) { adopt(spelling, as: name) }
    }

    /// If the file can't be read, all its settings seem to be missing, so the errors that follow from this are left
    /// out.
    func throwFileError() throws(ConfigurationErrors) {
        guard let fileError else { return }
        throw ConfigurationErrors(errors: [fileError], warnings: [])
    }

    func throwErrors() throws(ConfigurationErrors) {
        guard errors.isEmpty else { throw ConfigurationErrors(errors: errors, warnings: warnings) }
    }

    // MARK: Reading settings

    /// The setting's value; its default if it isn't set, and also, after an error, if it is wrong. A setting is parsed
    /// once, however often it is asked for.
    mutating func read<Value, Change>(_ setting: Setting<Value, Change>) -> Value {
        note(setting)
        return values[setting]
    }

    /// The values of all settings of a section.
    mutating func read<Section: SettingSection>(
        _ section: KeyPath<GatewaySettings, Section>
    ) -> SectionValues<Section> {
        let section = settings[keyPath: section]
        for setting in SettingTable.Section(section).settings { note(setting) }
        return SectionValues(section, values)
    }

    /// Reads the settings that no rule has read.
    mutating func readAll() {
        for section in table.sections { section.settings.forEach { note($0) } }
    }

    private mutating func note(_ setting: any AnySetting) {
        let row = setting.row
        guard values[row.name] == nil else { return }
        values[row.name] = setting.unsetValue
        guard let text = text(row.name) else {
            if row.isRequired, !hasFailed(setting) { refuse(setting, "isn't set", "It is needed: \(row.meaning)") }
            return
        }
        do throws(SettingProblem) {
            guard SettingText.isShort(text) else {
                throw SettingProblem(problem: SettingText.problem, remedy: SettingText.remedy)
            }
            values[row.name] = try setting.value(of: text)
        } catch {
            // Its line in the file may have been reported already.
            guard !hasFailed(setting) else { return }
            let hint = text.contains(" #") ? " The value seems to end with a comment, which is a part of it." : ""
            fail(setting, error.problem, error.remedy + hint)
        }
    }

    var settings: GatewaySettings { GatewaySettings.all }

    func isSet(_ setting: any AnySetting) -> Bool {
        text(setting.row.name) != nil
    }

    var effectiveSettings: [EffectiveSetting] {
        table.sections.flatMap(\.settings).map { setting in
            let row = setting.row
            let text = text(row.name)
            let shown = row.isSecret && text != nil ? "(secret)" : EscapedText(text ?? row.defaultText).description
            let isDefault = text == nil || values[row.name]?.isEqual(to: setting.unsetValue) == true
            return EffectiveSetting(
                row: row, name: writtenNames[row.name] ?? row.name, value: shown, origin: origin(row.name),
                isDefault: isDefault,
                fileHash: fileHashes[row.name])
        }
    }

    private func text(_ name: String) -> String? {
        guard let text = environment[name] ?? fileValues[name], !text.isEmpty else { return nil }
        return text
    }

    private func origin(_ name: String) -> ConfigurationError.Origin {
        if let value = environment[name] { return value.isEmpty ? .defaultValue : .environment }
        guard let line = fileLines[name], text(name) != nil else { return .defaultValue }
        return .file(path: filePath ?? "", line: line)
    }

    // MARK: Gathering

    /// Adds an error about a setting, unless one of the settings in `involving` is wrong by itself.
    mutating func refuse(
        _ setting: any AnySetting, _ problem: String, _ remedy: String, involving others: [any AnySetting] = []
    ) {
        guard !others.contains(where: hasFailed) else { return }
        let name = setting.row.name
        let origin = origin(name)
        errors.append(
            ConfigurationError(
                setting: writtenNames[name] ?? name, origin: origin == .defaultValue ? nil : origin, problem: problem,
                remedy: remedy))
    }

    /// Adds an error about a setting, and marks its value as wrong.
    mutating func fail(_ setting: any AnySetting, _ problem: String, _ remedy: String) {
        refuse(setting, problem, remedy)
        namesFailed.insert(setting.row.name)
    }

    func hasFailed(_ setting: any AnySetting) -> Bool { namesFailed.contains(setting.row.name) }

    /// - Parameter text: may hold names out of certificates; it is escaped.
    mutating func warn(_ setting: any AnySetting, _ text: String, isGuess: Bool = false) {
        let name = setting.row.name
        warnings.append(
            ConfigurationWarning(
                setting: writtenNames[name] ?? name, text: EscapedText(text).description, isGuess: isGuess))
    }

    // MARK: Files that settings name

    /// The text of the file that a setting names; nil after an error. A reload compares hashes of these texts.
    mutating func text<Change>(
        of setting: Setting<String?, Change>, _ path: String, maximumBytes: Int = NamedFile.maximumBytes
    ) -> String? {
        do throws(SettingProblem) {
            let text = try NamedFile.text(path, maximumBytes: maximumBytes)
            fileHashes[setting.name] = text.hashValue
            return text
        } catch {
            fail(setting, error.problem, error.remedy)
            return nil
        }
    }

    // MARK: The environment file

    private static func contents(_ path: String) -> Result<String, SettingProblem> {
        Result { () throws(SettingProblem) in
            try NamedFile.text(
                path, maximumBytes: ConfigurationLoading.maximumFileBytes, subject: "")
        }
    }

    private mutating func refuseFile(_ problem: SettingProblem) {
        fileError = ConfigurationError(
            setting: nil, origin: filePath.map { .file(path: $0, line: 0) }, problem: problem.problem,
            remedy: problem.remedy)
    }

    private mutating func noteFaults(of file: SettingFile) {
        for entry in file.entries { fileLines[entry.name] = entry.line }
        for fault in file.faults {
            errors.append(
                ConfigurationError(
                    setting: fault.name, origin: .file(path: filePath ?? "", line: fault.line),
                    problem: fault.problem, remedy: fault.remedy))
            if let name = fault.name { namesFailed.insert(table.spellings[name] ?? name) }
        }
    }

    /// The file is for the gateway alone, so every unknown name in it is an error. The environment is shared: an
    /// unknown name is an error if it has a prefix of ours, and a warning if it is one edit away from a setting.
    private mutating func noteUnknownNames(in file: SettingFile) {
        for entry in file.entries where !table.accepts(entry.name) {
            refuseUnknown(entry.name, .file(path: filePath ?? "", line: entry.line))
        }
        for name in environment.keys.sorted() where !table.accepts(name) {
            if RemovedSetting.named(name) != nil {
                if isGiven(name) { refuseUnknown(name, .environment) }
            } else if SettingSuggestion.isOurs(name) {
                refuseUnknown(name, .environment)
            } else if let nearest = SettingSuggestion.nearest(to: name, among: table.rows, within: 1) {
                let text = "the variable \(EscapedText(name)) has no effect; was \(nearest) meant?"
                warnings.append(ConfigurationWarning(setting: nearest, text: text))
            }
        }
    }

    /// An empty value counts as not set.
    private func isGiven(_ name: String) -> Bool { environment[name]?.isEmpty == false }

    /// Reads what is written under another name of a setting as if its own name were there.
    private mutating func adopt(_ spelling: String, as name: String) {
        let isTwice = adopt(spelling, as: name, in: \.environment) || adopt(spelling, as: name, in: \.fileValues)
        fileLines[name] = fileLines[name] ?? fileLines[spelling]
        guard isTwice else { return }
        errors.append(
            ConfigurationError(
                setting: name, origin: nil, problem: "is set twice, also as \(spelling)", remedy: "Remove one of them.")
        )
        namesFailed.insert(name)
    }

    private mutating func adopt(
        _ spelling: String, as name: String, in values: WritableKeyPath<Self, [String: String]>
    ) -> Bool {
        guard let text = self[keyPath: values][spelling] else { return false }
        guard self[keyPath: values][name]?.isEmpty ?? true else { return !text.isEmpty }
        self[keyPath: values][name] = text
        writtenNames[name] = spelling
        return false
    }

    private mutating func refuseUnknown(_ name: String, _ origin: ConfigurationError.Origin) {
        if let removed = RemovedSetting.named(name) {
            errors.append(
                ConfigurationError(
                    setting: name, origin: origin, problem: "is no setting any more", remedy: removed.advice))
            return
        }
        let remedy = SettingSuggestion.nearest(to: name, among: table.rows).map { "Did you mean \($0)?" }
        errors.append(
            ConfigurationError(
                setting: name, origin: origin, problem: "is no setting",
                remedy: remedy ?? "Remove it; `portcullis settings` prints all names."))
    }
}
