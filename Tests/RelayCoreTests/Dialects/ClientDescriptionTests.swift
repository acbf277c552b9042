import RelayCore
import Testing

@Suite("A client's description in a query")
struct ClientDescriptionTests {
    private func description(_ parameters: [String: String]) -> ClientDescription {
        ClientDescription { parameters[$0] }
    }

    @Test func `is accepted as far as it is valid`() {
        let client = description(
            ["cols": "132", "x": "1", "rows": "43", "client": "My Mud Client", "ttype": "xterm-256color"])
        #expect(client.columns == 132 && client.rows == 43)
        #expect(client.name == "My Mud Client" && client.terminalType == "xterm-256color" && client.version == nil)
    }

    @Test(arguments: [
        ("cols", ""), ("cols", "0"), ("cols", "65536"), ("cols", "-1"), ("cols", "+80"), ("cols", " 80"),
        ("cols", "8O"), ("cols", "8\u{0}"), ("rows", "99999999999999999999"), ("Cols", "80"), ("client", ""),
        ("client", "\u{0}"), ("client", "a\r\n"), ("client", "\u{E9}"), ("client", " "),
        ("client", String(repeating: "a", count: 65)), ("ttype", "a\u{1B}b"),
    ])
    func `is ignored otherwise`(name: String, value: String) {
        #expect(description([name: value]) == ClientDescription())
    }

    @Test func `is accepted up to its limits`() {
        let name = String(repeating: "a", count: 64)
        #expect(description(["cols": "1", "rows": "65535", "client": name]).name == name)
        #expect(description(["cols": "1", "rows": "65535"]).rows == 65_535)
    }
}
