/// A line of output and what kind of thing it says; the terminal decides what that looks like.
struct MudLine: Hashable, Sendable {
    enum Style: Sendable {
        case plain, title, exits, presence, speech, notice
    }

    let style: Style
    let text: String

    init(_ style: Style, _ text: String) {
        self.style = style
        self.text = text
    }
}

extension MudLine.Style {
    /// The parameters of SGR (ECMA-48); nil: as it is.
    var graphicRendition: String? {
        switch self {
        case .plain: nil
        case .title: "1;36"
        case .exits: "32"
        case .presence: "33"
        case .speech: "1"
        case .notice: "35"
        }
    }
}

extension String {
    /// Without what could move a cursor, reverse a line or hide in it. What players write is shown to other players.
    var withoutControls: String {
        String(String.UnicodeScalarView(unicodeScalars.filter(\.isHarmless)))
    }

    /// Without spaces at either end.
    var trimmed: String {
        var rest = self[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }

    /// Broken between words into lines of at most `width` characters. A longer word stays whole.
    func wrapped(to width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var length = 0
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let wordLength = word.count
            if length > 0, length + 1 + wordLength > width {
                lines.append(line)
                (line, length) = ("", 0)
            }
            line += length > 0 ? " " + word : String(word)
            length += wordLength + (length > 0 ? 1 : 0)
        }
        return lines + [line]
    }
}

extension Unicode.Scalar {
    /// Neither a control nor a separator of lines, nor a format character, but for the joiner inside emoji.
    var isHarmless: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
        case .format: self == "\u{200D}"
        default: true
        }
    }
}
