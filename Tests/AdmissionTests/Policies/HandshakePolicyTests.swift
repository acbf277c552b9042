import Admission
import Testing

/// What the edge has found of a handshake is refused here, each fault with its own answer.
struct HandshakePolicyTests {
    private let bench: Bench
    private let gate: Gate

    init() throws {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        self.bench = bench
        gate = bench.gate
    }

    private func refusal(_ fault: HandshakeFault?) -> Refusal? {
        gate.evaluate(bench.request().with { $0.handshake.fault = fault }).refusal
    }

    @Test func `a handshake without a fault passes, with a subprotocol and without one`() {
        #expect(refusal(nil) == nil)
        #expect(gate.evaluate(bench.request().with { $0.handshake.subprotocol = "telnet" }).admitted != nil)
    }

    @Test(arguments: [HandshakeFault.method, .httpVersion, .otherProtocol, .key, .malformed])
    func `a request that opens no WebSocket is refused, and a line says why`(fault: HandshakeFault) {
        let details: [HandshakeFault: String] = [
            .method: "method is not GET", .httpVersion: "HTTP/1.0", .otherProtocol: "not an upgrade to websocket",
            .key: "key is not 16 bytes of base64", .malformed: "a header of the handshake is repeated or malformed",
        ]
        #expect(refusal(fault)?.answer == .malformedHandshake && refusal(fault)?.detail == details[fault])
    }

    @Test(arguments: [nil, "", "8", "13, 8"])
    func `any version but 13 is refused with the supported version`(version: String?) {
        let refusal = refusal(.version(received: version))
        #expect(refusal?.status == 426)
        #expect(refusal?.headerFields.contains { $0 == ("Sec-WebSocket-Version", "13") } == true)
        #expect(refusal?.failed.received == version ?? "none")
    }

    @Test func `offering only unknown subprotocols is refused with the known ones`() {
        let refusal = refusal(.subprotocols(offered: ["chat", "json"], known: ["binary", "telnet"]))
        #expect(refusal?.answer == .unknownSubprotocol)
        #expect(refusal?.failed.expected == "one of the subprotocols binary, telnet")
        #expect(refusal?.failed.received == "chat, json")
    }
}
