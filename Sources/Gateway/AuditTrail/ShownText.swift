import Observability

extension String {
    /// Safe on a terminal. What the gateway wrote is escaped already and stays as it is; what somebody else wrote into
    /// the file is escaped.
    package var shown: String {
        let visible = unicodeScalars.allSatisfy { scalar in
            scalar == " " || EscapedText(String(scalar)).description == String(scalar) || scalar == "\\"
        }
        return visible ? self : EscapedText(self, maximumBytes: 4_096).description
    }
}

extension String {
    /// For a JSON text: safe on a terminal, with the same meaning. What is invisible is written as an escape of JSON.
    package var shownJSON: String {
        guard !utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else { return self }
        // JSON allows ASCII's control characters only as space between its parts.
        return unicodeScalars.reduce(into: "") { text, scalar in
            text += scalar.value < 0x20 ? " " : EscapedText.inJSON(scalar)
        }
    }
}
