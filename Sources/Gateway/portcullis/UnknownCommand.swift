import ArgumentParser
import Observability
import Settings

/// A word in place of a command that doesn't exist: names the commands, and the one that was probably meant.
struct UnknownCommand {
    private let word: String
    /// The commands in front of it.
    private let path: [any ParsableCommand.Type]
    /// Of the word.
    private static let shownBytes = 40
    /// The largest number of edits between a mistyped name and a command.
    private static let maximumDistance = 2

    /// - Returns: nil if every word in front of the first option is a command, or an argument of one.
    init?(_ arguments: [String], of root: any ParsableCommand.Type) {
        var (path, rest): ([any ParsableCommand.Type], _) = ([root], arguments[...])
        while let word = rest.popFirst(), !word.hasPrefix("-"), let group = path.last {
            let commands = group.configuration.subcommands
            // ArgumentParser's own command, which says itself what it doesn't know.
            guard !commands.isEmpty, word != "help" else { return nil }
            guard let command = commands.first(where: { $0._commandName == word }) else {
                (self.word, self.path) = (word, path)
                return
            }
            path.append(command)
        }
        return nil
    }

    /// For standard error.
    var lines: [String] {
        let commands = (path.last?.configuration.subcommands ?? []).map { command in
            (name: command._commandName, abstract: command.configuration.abstract)
        }
        let width = commands.map { $0.name.count }.max() ?? 0
        let before = path.map { $0._commandName }
        let meant = nearest(among: commands.map { $0.name }).map { "; was \($0) meant?" } ?? ""
        let group = before.joined(separator: " ")
        let shown = EscapedText(word, maximumBytes: Self.shownBytes)
        var lines = ["portcullis: error: \(group) has no command \"\(shown)\"\(meant)", ""]
        for command in commands {
            let gap = String(repeating: " ", count: width - command.name.count + 2)
            lines.append("  \(group) \(command.name)\(gap)\(command.abstract)")
        }
        let help = (before.dropFirst() + ["COMMAND"]).joined(separator: " ")
        return lines + ["", "`portcullis help \(help)` explains one."]
    }

    private func nearest(among names: [String]) -> String? {
        names.map { ($0, SettingSuggestion.distance(word.lowercased(), $0)) }
            .filter { $0.1 <= Self.maximumDistance && $0.1 < $0.0.count }
            .min { $0.1 < $1.1 }?.0
    }
}
