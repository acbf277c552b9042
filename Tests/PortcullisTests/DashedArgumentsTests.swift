import ArgumentParser
import Foundation
import Testing

@testable import portcullis

/// Arguments as swift-argument-parser gets them, for every command of the program.
@Suite("Arguments that begin with a hyphen")
struct DashedArgumentsTests {
    /// Like a key's identifier in base64url, and shorter ones.
    static let identifiers =
        ["-h", "--", "-1", "--h", "-o", "---", "-_"].map { $0 + String(repeating: "A", count: 43 - $0.count) } + [
            "-hA", "--help-", "-A=", "--store-", "-version", "--yes=",
        ]

    /// Whether each identifier is tried with each option (`scripts/test --full`), and not with every fourth: the parser
    /// takes long in a debug build.
    private static let isFull = ProcessInfo.processInfo.environment["PORTCULLIS_FULL_TESTS"] == "1"

    private let program: CommandOutline

    init() throws { program = try #require(CommandOutline.program) }

    /// The command that does something, with the words that name it.
    private struct Leaf {
        let path: [String]
        let outline: CommandOutline
    }

    private func leaves() -> [Leaf] {
        func leaves(_ outline: CommandOutline, _ path: [String]) -> [Leaf] {
            guard !outline.subcommands.isEmpty else { return [Leaf(path: path, outline: outline)] }
            return outline.subcommands.flatMap { leaves($0, path + [$0.commandName]) }
        }
        return leaves(program, []).filter { $0.path != ["help"] }
    }

    /// Arguments without which a command isn't run.
    private func needed(_ leaf: Leaf) -> [String] {
        switch leaf.path.joined(separator: " ") {
        case "keys erase": ["--yes"]
        case "dev-tokens issue": ["--name", "n"]
        case "keys prune": ["--idle", "90d"]
        case "settings": ["--format", "markdown"]
        default: []
        }
    }

    private func parse(_ arguments: [String]) throws -> any ParsableCommand {
        try PortcullisCommand.parseAsRoot(DashedArguments.readable(arguments))
    }

    /// Whether a text is the value of one of the command's arguments.
    private func has(_ text: String, _ value: Any, depth: Int = 0) -> Bool {
        if let found = value as? String { return found == text }
        return depth < 12 && Mirror(reflecting: value).children.contains { has(text, $0.value, depth: depth + 1) }
    }

    @Test func `the program's commands are known`() {
        let paths = Set(leaves().map { $0.path.joined(separator: " ") })
        #expect(paths.isSuperset(of: ["serve", "explain", "signing-keys revoke", "keys erase", "sessions close"]))
        let takers = leaves().filter { $0.outline.positionals > 0 }.count
        #expect(takers >= 14)
    }

    @Test(arguments: identifiers)
    func `an identifier is the argument of every command that takes one`(identifier: String) throws {
        for leaf in leaves() where leaf.outline.positionals > 0 {
            for arguments in [[identifier] + needed(leaf), needed(leaf) + [identifier]] {
                let command = try parse(leaf.path + arguments)
                #expect(has(identifier, command), "\(leaf.path + arguments): \(command)")
            }
        }
    }

    @Test(arguments: identifiers)
    func `an identifier is the value of every option that takes one`(identifier: String) throws {
        let options = leaves().flatMap { leaf in leaf.outline.options.sorted().map { (leaf, $0) } }
        let turn = try #require(Self.identifiers.firstIndex(of: identifier)) % 4
        // A command has few options: with the plain index it would often be the same one's turn.
        for (index, (leaf, option)) in options.enumerated() where Self.isFull || (index + index / 4) % 4 == turn {
            let others = needed(leaf).first == option ? [] : needed(leaf)
            let arguments =
                leaf.path + others + [option, identifier]
                + (leaf.outline.positionals > 0 && option != "--file" ? ["x"] : [])
            do {
                let command = try parse(arguments)
                #expect(has(identifier, command), "\(arguments): \(command)")
            } catch {
                // A number, or one of some words, or one argument too many: the command isn't run, and doesn't end with
                // 0.
                let message = PortcullisCommand.fullMessage(for: error)
                #expect(PortcullisCommand.exitCode(for: error) == .validationFailure, "\(arguments)")
                #expect(!message.contains("Missing value") && !message.contains("Unknown option"), "\(message)")
            }
        }
    }

    @Test func `an identifier is never a request for help`() {
        for leaf in leaves() {
            for identifier in ["-hAAA", "-hA", "-Ah"] {
                let ending = Result { try parse(leaf.path + needed(leaf) + [identifier]) }
                switch ending {
                case .success(let command): #expect(has(identifier, command), "\(leaf.path): \(command)")
                case .failure(let error):
                    #expect(PortcullisCommand.exitCode(for: error) == .validationFailure, "\(leaf.path)")
                }
            }
        }
    }

    @Test(arguments: ["-h", "--help", "--help-hidden", "-help"])
    func `help is given to who asks for it`(word: String) throws {
        for leaf in leaves() {
            let command = try? parse(leaf.path + [word])
            #expect(command.map { "\(type(of: $0))" } == "HelpCommand", "\(leaf.path)")
        }
    }

    @Test func `options keep their meaning`() throws {
        func readable(_ line: String) -> String {
            DashedArguments.readable(line.split(separator: " ").map(String.init)).joined(separator: " ")
        }
        for line in [
            "", "keys", "keys list", "keys revoke ID", "keys revoke --reason lost ID", "--env-file f",
            "serve --env-file f", "keys erase --yes ID", "sessions show --json ID", "audit --file - --json",
            "--version",
            "keys revoke --reason --store f ID", "keys revoke --reason", "-h", "--generate-completion-script bash",
        ] {
            #expect(readable(line) == line)
        }
        #expect(readable("keys revoke ID --reason -x") == "keys revoke --reason=-x ID")
        #expect(readable("keys revoke -hAAA --reason -x --store f") == "keys revoke --reason=-x --store f -- -hAAA")
        #expect(readable("keys revoke -- -hAAA --store") == "keys revoke -- -hAAA --store")
        #expect(readable("block-list add key -hAAA --reason x") == "block-list add --reason x -- key -hAAA")
        #expect(readable("signing-keys rotate -hAAA") == "signing-keys rotate -- -hAAA")
        #expect(readable("keys revoke ID --reson") == "keys revoke --reson ID")
    }

    @Test func `a mistyped option is answered with what was meant`() {
        for arguments in [["keys", "revoke", "ID", "--reson", "x"], ["sessions", "show", "ID", "--jsno"]] {
            do {
                _ = try parse(arguments)
                Issue.record("\(arguments) was accepted")
            } catch {
                #expect(PortcullisCommand.fullMessage(for: error).contains("Did you mean"), "\(arguments)")
            }
        }
    }
}
