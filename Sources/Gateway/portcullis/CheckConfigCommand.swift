import ArgumentParser
import FoundationEssentials
import GatewayServer
import Settings

struct CheckConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Check the settings without listening, and show those that differ from their defaults.",
        discussion: """
            Ends with 78 if the settings are wrong. With --probe it also looks at what they name outside: it dials the MUD and the routes as the \
            gateway does, resolves names, compares the certificate, PUBLIC_ORIGIN and WS_PORT, and looks whether clients get this certificate. It \
            ends with 1 if something fails. Targets see a connection that is closed at once.
            """)

    @OptionGroup var settings: SettingsOptions

    @Flag(help: "Show all settings.")
    var all = false

    @Flag(help: "Try what the settings name outside of the gateway, too.")
    var probe = false

    func run() throws {
        let loaded = try Console.load(settings)
        let shown = loaded.settings.filter { all || !$0.isDefault }
        for setting in shown { Console.say(setting.description) }
        if shown.count < loaded.settings.count {
            Console.say("# \(loaded.settings.count - shown.count) settings have their defaults: --all shows them")
        }
        for warning in loaded.warningsNow {
            Console.complain("portcullis: warning: \(warning)")
        }
        Console.say("portcullis: the configuration is valid: \(loaded.configuration)")
        if probe { try tryOut(loaded.configuration) }
    }

    private func tryOut(_ configuration: GatewayConfiguration) throws {
        let findings: [ProbeFinding]
        do throws(GatewayError) { findings = try ConfigurationProbe(configuration).run() } catch {
            throw Console.failure("\(error)")
        }
        for finding in findings { Console.say("probe: \(finding)") }
        guard findings.allSatisfy({ $0.grade != .failed }) else { throw ExitCode.failure }
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
