import Admission
import Testing

struct HandshakePolicyTests {
    private let bench: Bench
    private let gate: Gate

    init() throws {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        self.bench = bench
        gate = bench.gate
    }

    private func answer(_ change: (inout HandshakeFields) -> Void) -> RefusalAnswer? {
        gate.evaluate(bench.request().with { change(&$0.handshake) }).refusal?.answer
    }

    @Test func `a valid handshake passes, with the protocol's name in any case`() {
        #expect(answer { _ in } == nil)
        #expect(answer { $0.upgrade = "WebSocket" } == nil)
    }

    @Test(arguments: ["POST", "get", "HEAD", "CONNECT", "", "GET "]) func `only GET upgrades`(method: String) {
        #expect(answer { $0.method = method } == .malformedHandshake)
    }

    @Test func `an upgrade over HTTP 1.0 is refused`() {
        #expect(answer { $0.isHTTP11 = false } == .malformedHandshake)
    }

    @Test(arguments: [nil, "", "h2c", "websocket, h2c", "websockets", " websocket", "ｗebsocket", "websoc\u{212A}et"])
    func `the upgrade must name only websocket`(upgrade: String?) {
        #expect(answer { $0.upgrade = upgrade } == .malformedHandshake)
        #expect(answer { $0.connectionIsUpgrade = false } == .malformedHandshake)
    }

    @Test(arguments: [nil, "", "8", "0", "14", "013", "13 ", "13, 8"])
    func `any version but 13 is refused with the supported version`(version: String?) {
        let refusal = gate.evaluate(bench.request().with { $0.handshake.version = version }).refusal
        #expect(refusal?.status == 426)
        #expect(refusal?.headerFields.contains { $0 == ("Sec-WebSocket-Version", "13") } == true)
    }

    @Test(arguments: [
        nil, "", "A", "AAAA", "AAAAAAAAAAAAAAAAAAAAAA=A", "AAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "dGhlIHNhbXBsZSBub25jZR==", " dGhlIHNhbXBsZSBub25jZQ==",
    ])
    func `the key must be 16 bytes of base64`(key: String?) {
        #expect(answer { $0.key = key } == .malformedHandshake)
    }

    @Test func `the client's first known subprotocol is chosen`() {
        func chosen(_ offered: [String]) -> String? {
            gate.evaluate(bench.request().with { $0.handshake.offeredSubprotocols = offered }).admitted?.subprotocol
        }
        #expect(chosen([]) == nil)
        for name in ["binary", "telnet", "telnet.mudstandards.org"] { #expect(chosen([name]) == name) }
        #expect(chosen(["chat", "telnet", "binary"]) == "telnet")
    }

    @Test(arguments: [["chat"], ["chat", "json"], ["Telnet"], [""], ["telnet "]])
    func `offering only unknown subprotocols is refused`(offered: [String]) {
        #expect(answer { $0.offeredSubprotocols = offered } == .unknownSubprotocol)
    }

    @Test func `the known subprotocols are a setting`() {
        var bench = bench
        bench.settings.subprotocols = Subprotocols(["chat"])
        let gate = bench.gate
        let chat = bench.request().with { $0.handshake.offeredSubprotocols = ["chat"] }
        #expect(gate.evaluate(chat).admitted?.subprotocol == "chat")
        let telnet = bench.request().with { $0.handshake.offeredSubprotocols = ["telnet"] }
        #expect(gate.evaluate(telnet).refusal?.answer == .unknownSubprotocol)
    }
}
