import ArgumentParser
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
        for warning in loaded.warnings {
            Console.complain("portcullis: warning: \(warning)")
        }
        Console.say("portcullis: the configuration is good: \(loaded.configuration)")
    }
}
