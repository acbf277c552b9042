import ArgumentParser
import FoundationEssentials
import Settings

struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config", abstract: "Check the settings without listening, and show the values in effect.")

    @OptionGroup var settings: SettingsOptions

    func run() throws {
        let loaded = try Console.load(settings)
        for setting in loaded.settings {
            Console.say(setting.description)
        }
        for warning in loaded.warningsNow {
            Console.complain("portcullis: warning: \(warning)")
        }
        Console.say("portcullis: the configuration is valid: \(loaded.configuration)")
    }
}

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings", abstract: "Print every setting with its default, allowed values and meaning.",
        discussion: """
            --format env prints an environment file with every setting as a comment; --format markdown prints the tables of the \
            documentation. Both are about this version of the program. Nothing is read from the environment.
            """)

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case env, markdown
    }

    @Option(help: "The form of the output.")
    var format = Format.env

    @Option(
        help: "A Markdown file whose tables of settings are replaced, instead of printing; needs --format markdown.")
    var into: String?

    func validate() throws {
        guard into == nil || format == .markdown else { throw ValidationError("--into needs --format markdown.") }
    }

    func run() throws {
        let manual = SettingManual()
        guard let into else {
            return Console.show(format == .env ? manual.environmentFile : manual.markdown)
        }
        do {
            let document = try String(contentsOfFile: into, encoding: .utf8)
            try manual.updating(document).write(toFile: into, atomically: true, encoding: .utf8)
        } catch {
            throw Console.failure("\(into) can't be updated: \(error)")
        }
    }
}
