/// A line of output and its kind; the terminal decides on its appearance.
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
    /// The parameters of SGR (ECMA-48); nil: unchanged.
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
    /// The text without characters that could move a cursor, reverse a line or be invisible. Players' text is shown to
    /// other players.
    var withoutControls: String {
        String(String.UnicodeScalarView(unicodeScalars.filter(\.isHarmless)))
    }

    /// The text without spaces at either end.
    var trimmed: String {
        var rest = self[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }

    /// The text broken between words into lines of at most `width` characters. A longer word isn't broken.
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
    /// Not a control, a line separator or a format character, except the joiner inside emoji.
    var isHarmless: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: false
        case .format: self == "\u{200D}"
        default: true
        }
    }
}
