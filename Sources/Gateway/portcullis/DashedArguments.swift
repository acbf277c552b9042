import ArgumentParser
import FoundationEssentials

/// Arguments in a form in which swift-argument-parser takes no identifier for an option.
///
/// It reads every argument that begins with a hyphen as an option: `-hAAA…` as a request for help, which ends with 0.
/// One identifier in 64 of a key begins with a hyphen. So what isn't an option of the command goes behind `--`, and an
/// option's value is joined to its name with `=`.
struct DashedArguments {
    private static let terminator = "--"
    /// Understood at every command, without being an argument of it.
    private static let builtIn: Set<String> = ["-help", "--help-hidden", "--experimental-dump-help"]

    /// Options of so many commands that nobody takes them for something else. The program's outline is costly, and most
    /// starts have no other argument with a hyphen.
    private static let common: Set<String> = ["--env-file", "--socket", "--store", "--json"]

    private let command: CommandOutline

    /// - Parameter arguments: without the program's name.
    static func readable(_ arguments: [String]) -> [String] {
        guard arguments.contains(where: { $0.hasPrefix("-") && !common.contains($0) }),
            let program = CommandOutline.program
        else { return arguments }
        var command = program
        var rest = arguments[...]
        while let word = rest.first, let next = command.subcommand(word) {
            command = next
            rest = rest.dropFirst()
        }
        if let fallback = command.defaultSubcommand, let next = command.subcommand(fallback) { command = next }
        return arguments[..<rest.startIndex] + DashedArguments(command: command).readable(Array(rest))
    }

    private enum Word {
        /// An option of the command, with its value.
        case option([String])
        /// For a positional argument.
        case value(String)
        /// It begins with a hyphen, and is no option of the command.
        case unknown(String)
    }

    private func readable(_ arguments: [String]) -> [String] {
        var (options, values) = ([String](), [String]())
        let words = words(arguments)
        // A mistyped option isn't a value where there is no room for one: then the parser says what it could have
        // meant.
        var room = command.positionals - words.count { if case .value = $0 { true } else { false } }
        for word in words {
            switch word {
            case .option(let parts): options += parts
            case .value(let text): values.append(text)
            case .unknown(let text) where room > 0 || Self.wouldBeSplit(text):
                room -= 1
                values.append(text)
            case .unknown(let text): options.append(text)
            }
        }
        return options + (values.contains(where: Self.isDashed) ? [Self.terminator] : []) + values
    }

    /// A hyphen alone is a value: standard input.
    private static func isDashed(_ text: String) -> Bool { text.hasPrefix("-") && text != "-" }

    /// `-hAAA`: the parser would read it as several options of one letter each.
    private static func wouldBeSplit(_ text: String) -> Bool {
        text.utf8.count > 2 && !text.hasPrefix("--")
    }

    private func words(_ arguments: [String]) -> [Word] {
        var words: [Word] = []
        var rest = arguments[...]
        while let text = rest.popFirst() {
            if text == Self.terminator { return words + rest.map(Word.value) }
            guard Self.isDashed(text) else {
                words.append(.value(text))
                continue
            }
            guard let takesValue = takesValue(text) else {
                words.append(.unknown(text))
                continue
            }
            guard takesValue, let value = rest.first, canBeValue(value) else {
                words.append(.option([text]))
                continue
            }
            rest = rest.dropFirst()
            words.append(.option(Self.isDashed(value) ? ["\(text)=\(value)"] : [text, value]))
        }
        return words
    }

    /// Whether an option needs the argument behind it; nil: it isn't an option of the command.
    private func takesValue(_ text: String) -> Bool? {
        if Self.builtIn.contains(text) || command.flags.contains(text) { return false }
        if command.options.contains(text) { return true }
        guard let end = text.firstIndex(of: "=") else { return nil }
        return command.options.contains(String(text[..<end])) ? false : nil
    }

    /// An option isn't another one's value: that was forgotten, and the parser says so.
    private func canBeValue(_ text: String) -> Bool {
        text != Self.terminator && takesValue(text) == nil
    }
}

/// What swift-argument-parser knows of a command, as far as it is needed here.
struct CommandOutline: Decodable, Sendable {
    private struct Tool: Decodable {
        let command: CommandOutline
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String

            var text: String { (kind == "long" ? "--" : "-") + name }
        }

        let kind: String
        let isRepeating: Bool
        let names: [Name]?
    }

    private enum CodingKeys: String, CodingKey {
        case commandName, defaultSubcommand, subcommands, arguments
    }

    let commandName: String
    let defaultSubcommand: String?
    let subcommands: [CommandOutline]
    /// With their hyphens.
    let flags, options: Set<String>
    /// The number of positional arguments.
    let positionals: Int

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        commandName = try container.decode(String.self, forKey: .commandName)
        defaultSubcommand = try container.decodeIfPresent(String.self, forKey: .defaultSubcommand)
        subcommands = try container.decodeIfPresent([CommandOutline].self, forKey: .subcommands) ?? []
        let arguments = try container.decodeIfPresent([Argument].self, forKey: .arguments) ?? []
        func names(_ kind: String) -> Set<String> {
            Set(arguments.filter { $0.kind == kind }.flatMap { $0.names ?? [] }.map(\.text))
        }
        (flags, options) = (names("flag"), names("option"))
        let positional = arguments.filter { $0.kind == "positional" }
        positionals = positional.contains(where: \.isRepeating) ? .max : positional.count
    }

    /// `portcullis` and all its commands.
    static let program = try? JSONDecoder().decode(Tool.self, from: Data(PortcullisCommand._dumpHelp().utf8)).command

    func subcommand(_ name: String) -> CommandOutline? {
        subcommands.first { $0.commandName == name }
    }
}
