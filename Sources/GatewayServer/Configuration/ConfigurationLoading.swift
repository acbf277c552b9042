import Configuration
package import FoundationEssentials
import Observability

/// A configuration with what `check-config` shows about it.
package struct LoadedConfiguration: Sendable {
    package let configuration: GatewayConfiguration
    package let warnings: [ConfigurationWarning]
    /// Every setting in the table's order, with the value in effect and its origin.
    package let settings: [EffectiveSetting]
}

/// The value that a setting has, as text.
package struct EffectiveSetting: Sendable, Equatable, CustomStringConvertible {
    package let row: SettingRow
    /// Escaped; `(secret)` in place of a secret, and empty for what isn't set.
    package let value: String
    package let origin: ConfigurationError.Origin

    /// `NAME=value`, with a comment where it comes from, and what a 0 that is to be derived amounts to here.
    package var description: String {
        let derived = value == "0" ? DerivedFigure.of(row).map { ": \($0) here" } : nil
        return "\(row.name)=\(value)  # \(source)\(derived ?? "")"
    }

    private var source: String {
        switch origin {
        case .defaultValue: "default"
        case .environment: "environment"
        case .file(_, let line): "line \(line)"
        }
    }
}

/// Loads the gateway's configuration from the environment and an environment file; the environment wins.
///
/// An empty value is the same as none: the default. Nothing is listened on, connected to or written; the files that
/// settings name are read, and checked as far as they can be without a handshake.
package enum ConfigurationLoading {
    /// Bytes of an environment file.
    static let maximumFileBytes = 262_144

    /// Everything that `serve` needs.
    ///
    /// - Parameters:
    ///   - environment: variables of the process.
    ///   - environmentFile: path of `--env-file`.
    ///   - now: for warnings about certificates that expire.
    /// - Throws: all errors at once.
    package static func load(
        environment: [String: String], environmentFile: String?, now: Date
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var loader = ConfigurationLoader(environment: environment, environmentFile: environmentFile, now: now)
        try loader.throwFileError()
        let configuration = loader.gatewayConfiguration()
        try loader.throwErrors()
        guard let configuration else { preconditionFailure("A part is missing, and no error says so.") }
        return LoadedConfiguration(
            configuration: configuration, warnings: loader.warnings, settings: loader.effectiveSettings)
    }

    /// The few settings that `keys …` needs; others aren't looked at, except for their names.
    package static func loadKeyStorage(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> GatewayConfiguration.KeyStorage {
        var loader = ConfigurationLoader(environment: environment, environmentFile: environmentFile, now: Date())
        try loader.throwFileError()
        let storage = loader.keyStorage()
        try loader.throwErrors()
        return storage
    }

    /// CONTROL_SOCKET_PATH alone, for tools that speak to the running gateway.
    package static func loadControlSocketPath(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> String? {
        var loader = ConfigurationLoader(environment: environment, environmentFile: environmentFile, now: Date())
        let path = loader.tickets().controlSocketPath
        try loader.throwErrors()
        return path
    }

    /// All rows of the table, for `--help` and the documentation.
    package static var rows: [SettingRow] { SettingTable.rows }
}

/// One run of loading: it reads settings and gathers what is wrong on the way.
struct ConfigurationLoader {
    let now: Date
    private(set) var errors: [ConfigurationError] = []
    private(set) var warnings: [ConfigurationWarning] = []

    /// Settings that were looked up. A test proves that these are the table's.
    private(set) var namesRead: Set<String> = []
    /// Settings whose own value is wrong: rules that involve one of them are left out, since what they would say
    /// follows from an error that is reported already.
    private(set) var namesFailed: Set<String> = []
    private let reader: ConfigReader
    private let environment: [String: String]
    private var fileLines: [String: Int] = [:]
    private let filePath: String?
    /// Why the environment file can't be read at all.
    private var fileError: ConfigurationError?

    init(environment: [String: String], environmentFile: String?, now: Date) {
        self.now = now
        self.environment = environment
        filePath = environmentFile
        let file = environmentFile.map(Self.contents)
        let settingFile = (try? file?.get()).map { SettingFile($0) } ?? SettingFile("")
        let fileValues = settingFile.entries.map { ($0.name, $0.value) }
        reader = ConfigReader(providers: [
            EnvironmentVariablesProvider(environmentVariables: environment),
            EnvironmentVariablesProvider(environmentVariables: Dictionary(fileValues) { first, _ in first }),
        ])
        if case .failure(let problem) = file { refuseFile(problem) }
        noteFaults(of: settingFile)
        noteUnknownNames(in: settingFile)
    }

    /// Without its file everything seems to be missing: what would follow is left out.
    func throwFileError() throws(ConfigurationErrors) {
        guard let fileError else { return }
        throw ConfigurationErrors(errors: [fileError], warnings: [])
    }

    func throwErrors() throws(ConfigurationErrors) {
        guard errors.isEmpty else { throw ConfigurationErrors(errors: errors, warnings: warnings) }
    }

    // MARK: Reading settings

    /// The setting's value; its default when it isn't set, and also, after an error, when it is wrong.
    mutating func read<Value>(_ setting: Setting<Value>) -> Value {
        let row = setting.row
        namesRead.insert(row.name)
        guard let text = text(row.name) else {
            if row.isRequired && !namesFailed.contains(row.name) {
                refuse(row.name, "isn't set", "It is needed: \(row.meaning)")
            }
            return setting.defaultValue
        }
        do throws(SettingProblem) {
            return try setting.parse(text)
        } catch {
            // Several parts may ask for one setting.
            guard namesFailed.insert(row.name).inserted else { return setting.defaultValue }
            let hint = text.contains(" #") ? " The value seems to end with a comment, which would belong to it." : ""
            refuse(row.name, error.problem, error.remedy + hint)
            return setting.defaultValue
        }
    }

    func isSet(_ setting: Setting<some Any>) -> Bool {
        text(setting.row.name) != nil
    }

    var effectiveSettings: [EffectiveSetting] {
        SettingTable.rows.map { row in
            let text = text(row.name)
            let shown = row.isSecret && text != nil ? "(secret)" : EscapedText(text ?? row.defaultText).description
            return EffectiveSetting(row: row, value: shown, origin: origin(row.name))
        }
    }

    private func text(_ name: String) -> String? {
        guard let text = reader.string(forKey: ConfigKey([name])), !text.isEmpty else { return nil }
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
        _ name: String, _ problem: String, _ remedy: String, involving others: [String] = []
    ) {
        guard namesFailed.isDisjoint(with: others) else { return }
        let origin = origin(name)
        errors.append(
            ConfigurationError(
                setting: name, origin: origin == .defaultValue ? nil : origin, problem: problem, remedy: remedy))
    }

    /// Adds an error about a setting, and takes the setting for wrong from here on.
    mutating func fail(_ setting: Setting<some Any>, _ problem: String, _ remedy: String) {
        refuse(setting.row.name, problem, remedy)
        namesFailed.insert(setting.row.name)
    }

    /// - Parameter text: may hold names out of certificates; it is escaped.
    mutating func warn(_ setting: Setting<some Any>, _ text: String) {
        warnings.append(ConfigurationWarning(setting: setting.row.name, text: EscapedText(text).description))
    }

    // MARK: The file

    private static func contents(_ path: String) -> Result<String, SettingProblem> {
        Result { () throws(SettingProblem) in
            try ConfigurationLoadingFile.text(
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
            if let name = fault.name { namesFailed.insert(name) }
        }
    }

    /// The file is ours alone, so every unknown name in it is an error. The environment is shared: there a name is an
    /// error where it can only be meant for us, and worth a warning where it is one slip away from a setting.
    private mutating func noteUnknownNames(in file: SettingFile) {
        for entry in file.entries where !SettingTable.names.contains(entry.name) {
            refuseUnknown(entry.name, .file(path: filePath ?? "", line: entry.line))
        }
        for name in environment.keys.sorted() where !SettingTable.names.contains(name) {
            if SettingSuggestion.isOurs(name) {
                refuseUnknown(name, .environment)
            } else if let nearest = SettingSuggestion.nearest(to: name, within: 1) {
                let text = "the variable \(EscapedText(name)) has no effect; was \(nearest) meant?"
                warnings.append(ConfigurationWarning(setting: nearest, text: text))
            }
        }
    }

    private mutating func refuseUnknown(_ name: String, _ origin: ConfigurationError.Origin) {
        let remedy = SettingSuggestion.nearest(to: name).map { "Did you mean \($0)?" }
        errors.append(
            ConfigurationError(
                setting: name, origin: origin, problem: "is no setting",
                remedy: remedy ?? "Remove it, or see config/portcullis.env.example for the names."))
    }
}
