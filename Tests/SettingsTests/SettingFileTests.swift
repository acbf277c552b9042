import Testing

@testable import Settings

@Suite struct SettingFileTests {
    private func values(_ text: String) -> [String: String] {
        let file = SettingFile(text)
        #expect(file.faults.isEmpty)
        return Dictionary(uniqueKeysWithValues: file.entries.map { ($0.name, $0.value) })
    }

    private func problems(_ text: String) -> [String] {
        SettingFile(text).faults.map(\.problem)
    }

    @Test(
        arguments: [
            ("A=b", "b"), ("A=b   # comment", "b"), ("A=b\t# comment", "b"), ("A=b#c", "b#c"), ("A=# comment", ""),
            ("A=", ""), ("A=   ", ""), ("A=  b  ", "b"), ("A=b c", "b c"), ("  A=b", "b"), ("export A=b", "b"),
            ("export\t A=b", "b"), ("A=b=c", "b=c"), ("A='b # c'", "b # c"),
            ("A='$HOME \\\"'  # comment", "$HOME \\\""),
            ("A=\"b # c\"", "b # c"), ("A=\"a\\\"b\\\\c\\$d\" # comment", "a\"b\\c$d"), ("A=''", ""), ("A=\"\"", ""),
            ("A=C:\\temp", "C:\\temp"), ("A=Grüße", "Grüße"), ("A='it''", nil),
            ("A=https://a,https://b", "https://a,https://b"),
        ] as [(String, String?)])
    func `a value is read by the grammar`(line: String, value: String?) {
        #expect(SettingFile(line).entries.first?.value == value)
        #expect(SettingFile(line).faults.isEmpty == (value != nil))
    }

    @Test(arguments: ["\n", "\r\n"])
    func `lines may end in LF or CRLF`(end: String) {
        let text = ["# comment", "", "   ", "  # indented", "A=1", "export=2", "B='3'", "C=\"4\" # x"].joined(
            separator: end)
        #expect(values(text) == ["A": "1", "export": "2", "B": "3", "C": "4"])
        #expect(values(text + end) == values(text))
        #expect(SettingFile(text).entries.map(\.line) == [5, 6, 7, 8])
    }

    @Test func `a byte order mark isn't part of the first name`() {
        #expect(values("\u{FEFF}A=1\n") == ["A": "1"])
    }

    @Test(arguments: [
        ("A", "isn't an assignment"), ("A = b", "isn't an assignment"), ("=b", "isn't an assignment"),
        ("1A=b", "isn't an assignment"), ("A-B=c", "isn't an assignment"), ("É=b", "isn't an assignment"),
        ("export export A=b", "isn't an assignment"), ("exportA b", "isn't an assignment"),
        ("A=\"b", "has no closing quote"), ("A='b", "has no closing quote"), ("A='", "has no closing quote"),
        ("A=\"b\\\"", "has no closing quote"), ("A=\"\\n\"", "has an unknown escape"),
        ("A=\"b\\", "has an unknown escape"),
        ("A='b'c", "has text after its closing quote"), ("A='b'# c", "has text after its closing quote"),
        ("A=\"b\" c", "has text after its closing quote"), ("A=b\"c\"", "has a quote inside its value"),
        ("A=$HOME", "has a $ in its value, and variables aren't expanded here"),
        ("A=\"${HOME}\"", "has a $ in its value, and variables aren't expanded here"),
        ("A=b\u{0}", "has a control character in its value"), ("A=b\rC=d", "has a control character in its value"),
        ("A='\u{1B}'", "has a control character in its value"),
    ])
    func `a line that isn't understood is an error`(line: String, problem: String) {
        #expect(problems(line) == [problem])
        #expect(SettingFile(line).entries.isEmpty)
    }

    @Test func `a name may occur once`() {
        let file = SettingFile("A=1\nB=2\nA=1\n")
        #expect(
            file.faults == [
                .init(
                    line: 3, name: "A", problem: "is set twice, first in line 1", remedy: "Remove one of the two lines."
                )
            ])
    }

    @Test func `an error in one line leaves the others readable`() {
        let file = SettingFile("A=1\nbroken\nB=2\n")
        #expect(file.entries.map(\.name) == ["A", "B"])
        #expect(file.faults.map(\.line) == [2])
    }

    @Test func `every prefix of a file is read or refused and never traps`() {
        let text = "\u{FEFF}export A=\"q\\\"\\\\\" # c\r\nB='x' #\r\n\r\n# c\nC=d #e\nD=\u{1B}\n"
        for count in 0...text.unicodeScalars.count {
            let file = SettingFile(String(String.UnicodeScalarView(text.unicodeScalars.prefix(count))))
            #expect(file.entries.count <= 4)
        }
    }
}
