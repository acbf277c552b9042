/// One line of an environment file. See `SettingFile` for the grammar.
struct SettingFileLine {
    let number: Int
    let text: Substring

    /// Nil for a line without an assignment.
    func entry() throws(SettingFile.Fault) -> SettingFile.Entry? {
        guard SettingText.isShort(text) else { throw fault(nil, SettingText.problem, SettingText.remedy) }
        var rest = text.drop(while: Self.isBlank)
        guard let first = rest.first, first != "#" else { return nil }
        if rest.hasPrefix("export"), let next = rest.dropFirst(6).first, Self.isBlank(next) {
            rest = rest.dropFirst(6).drop(while: Self.isBlank)
        }
        let name = String(rest.prefix(while: Self.isNamePart))
        guard let initial = name.first, !initial.isNumber, rest.dropFirst(name.count).first == "=" else {
            throw fault(nil, "isn't an assignment", "Write `NAME=value`, without spaces around the `=`.")
        }
        let raw = rest.dropFirst(name.count + 1).drop(while: Self.isBlank)
        return SettingFile.Entry(name: name, value: try value(of: name, raw), line: number)
    }

    private func value(of name: String, _ raw: Substring) throws(SettingFile.Fault) -> String {
        guard !raw.unicodeScalars.contains(where: { $0 != "\t" && ($0.value < 0x20 || $0.value == 0x7F) }) else {
            throw fault(name, "has a control character in its value", "Remove it.")
        }
        switch raw.first {
        case "'": return try singleQuoted(name, raw.dropFirst())
        case "\"": return try doubleQuoted(name, raw.dropFirst())
        default: return try unquoted(name, raw)
        }
    }

    private func unquoted(_ name: String, _ raw: Substring) throws(SettingFile.Fault) -> String {
        var value = ""
        var previous: Character = " "
        for character in raw {
            if character == "#" && Self.isBlank(previous) { break }
            guard character != "\"" && character != "'" else {
                throw fault(name, "has a quote inside its value", "Put the whole value in quotes.")
            }
            guard character != "$" else { throw expansion(name) }
            value.append(character)
            previous = character
        }
        while let last = value.last, Self.isBlank(last) { value.removeLast() }
        return value
    }

    private func singleQuoted(_ name: String, _ raw: Substring) throws(SettingFile.Fault) -> String {
        guard let end = raw.firstIndex(of: "'") else { throw unterminated(name) }
        try requireNothing(after: raw[raw.index(after: end)...], name)
        return String(raw[..<end])
    }

    private func doubleQuoted(_ name: String, _ raw: Substring) throws(SettingFile.Fault) -> String {
        var value = ""
        var rest = raw
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                try requireNothing(after: rest, name)
                return value
            case "\\":
                guard let escaped = rest.popFirst(), "\"\\$".contains(escaped) else {
                    throw fault(name, "has an unknown escape", "Only \" \\ and $ may follow a backslash.")
                }
                value.append(escaped)
            case "$":
                throw expansion(name)
            default:
                value.append(character)
            }
        }
        throw unterminated(name)
    }

    /// After a closing quote: nothing, or a space and a comment.
    private func requireNothing(after rest: Substring, _ name: String) throws(SettingFile.Fault) {
        let tail = rest.drop(while: Self.isBlank)
        guard tail.isEmpty || (tail.first == "#" && tail.count < rest.count) else {
            throw fault(name, "has text after its closing quote", "Put the whole value in quotes.")
        }
    }

    private func expansion(_ name: String) -> SettingFile.Fault {
        fault(
            name, "has a $ in its value, and variables aren't expanded here",
            "Write the value out; for a $ itself put the value in single quotes.")
    }

    private func unterminated(_ name: String) -> SettingFile.Fault {
        fault(name, "has no closing quote", "Close the quote on the same line.")
    }

    private func fault(_ name: String?, _ problem: String, _ remedy: String) -> SettingFile.Fault {
        SettingFile.Fault(line: number, name: name, problem: problem, remedy: remedy)
    }

    private static func isBlank(_ character: Character) -> Bool {
        character == " " || character == "\t"
    }

    private static func isNamePart(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "_")
    }
}
