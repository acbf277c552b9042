import Observability

extension String {
    /// Safe on a terminal. What the gateway wrote is escaped already and stays as it is; what somebody else wrote into the file is escaped.
    package var shown: String {
        let visible = unicodeScalars.allSatisfy { scalar in
            scalar == " " || EscapedText(String(scalar)).description == String(scalar) || scalar == "\\"
        }
        return visible ? self : EscapedText(self, maximumBytes: 4_096).description
    }
}
