/// A player's command, parsed from a line of input.
enum PlayerCommand: Hashable, Sendable {
    case nothing
    case look
    case go(Direction?)
    case say(String)
    case emote(String)
    case who
    case ring
    case drink
    case help
    case quit
    case unknown(String)

    init(_ line: String) {
        let line = line.trimmed
        // The two shorthands that all MUDs share.
        if line.hasPrefix("'") {
            self = .say(String(line.dropFirst()).trimmed)
        } else if line.hasPrefix(":") {
            self = .emote(String(line.dropFirst()).trimmed)
        } else {
            self.init(words: line)
        }
    }

    private init(words line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        let word = parts.first?.lowercased() ?? ""
        let rest = parts.count > 1 ? String(parts[1]).trimmed : ""
        if let direction = Direction(word: word) {
            self = .go(direction)
            return
        }
        switch word {
        case "": self = .nothing
        case "look", "l": self = .look
        case "go": self = .go(Direction(word: rest.lowercased()))
        case "say": self = .say(rest)
        case "emote": self = .emote(rest)
        case "who": self = .who
        case "ring": self = .ring
        case "drink": self = .drink
        case "help", "?": self = .help
        case "quit": self = .quit
        default: self = .unknown(word)
        }
    }

    static let helpLines = [
        "look                 what is around you",
        "n, e, s, w, go east  walk",
        "say <words> or '…    speak to those who are here",
        "emote <deed> or :…   do something they can see",
        "who                  everybody who plays",
        "ring, drink          where there is something to ring or to drink",
        "quit                 leave",
    ]
}
