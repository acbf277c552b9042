import RelayCore
import Testing

@Suite("What a query says of the client")
struct ClientDescriptionTests {
    @Test("is taken as far as it makes sense")
    func query() {
        let client = ClientDescription(query: "cols=132&x=1&rows=43&client=My%20Mud+Client&ttype=xterm-256color")
        #expect(client.columns == 132 && client.rows == 43)
        #expect(client.name == "My Mud Client" && client.terminalType == "xterm-256color" && client.version == nil)
    }

    @Test(
        "counts as not said otherwise",
        arguments: [
            "", "&&==&", "cols", "cols=", "cols=0", "cols=65536", "cols=-1", "cols=+80", "cols=8O", "cols=%38%G0",
            "client=", "client=%",
            "client=%4", "client=%00", "client=%0d%0a", "client=%ff", "client=%c3%a9", "client=+", "Cols=80",
            "rows=99999999999999999999",
            "client=\(String(repeating: "a", count: 65))", "ttype=a%1bb",
        ])
    func nonsense(query: String) {
        #expect(ClientDescription(query: query) == ClientDescription())
    }

    @Test("is taken to its limits")
    func limits() {
        let name = String(repeating: "a", count: 64)
        #expect(ClientDescription(query: "cols=1&rows=65535&client=\(name)").name == name)
        #expect(ClientDescription(query: "cols=1&rows=65535").rows == 65_535)
        #expect(ClientDescription(query: "cols=%38%30").columns == 80)
    }
}
