import Testing
import WebSocketWire

@Suite("The opening handshake")
struct OpeningHandshakeTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    private static func request(_ change: (inout OpeningRequest) -> Void = { _ in }) -> OpeningRequest {
        var request = OpeningRequest(
            method: "GET", upgrade: ["websocket"], connection: ["Upgrade"], key: [key], webSocketVersion: ["13"],
            protocols: ["chat, superchat"])
        change(&request)
        return request
    }

    private static func fault(_ change: (inout OpeningRequest) -> Void) -> OpeningHandshake.Fault? {
        switch OpeningHandshake.judge(request(change)) {
        case .success: nil
        case .failure(let fault): fault
        // It asks for nothing.
        case nil: .upgrade
        }
    }

    @Test func `accepts the RFC's request, and answers its key (§1.3, §4.2.2)`() throws {
        let handshake = try #require(OpeningHandshake.judge(Self.request())).get()
        #expect(handshake.accept == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(handshake.protocols == ["chat", "superchat"] && handshake.extensions.isEmpty)
    }

    @Test func `requires GET (§4.2.1, item 1)`() {
        #expect(Self.fault { $0.method = "POST" } == .method)
        #expect(Self.fault { $0.method = "get" } == .method)
    }

    @Test func `requires HTTP/1.1 or higher (§4.2.1, item 1)`() {
        #expect(Self.fault { $0.version = (1, 0) } == .httpVersion)
        #expect(Self.fault { $0.version = (0, 9) } == .httpVersion)
        #expect(Self.fault { $0.version = (1, 1) } == nil)
    }

    @Test func `requires Upgrade: websocket, in any case and list (§4.2.1, item 3)`() {
        for fields in [[], [""], ["h2c"], ["websocket2"], ["web socket"], ["\"websocket\""], ["websocket,"]] {
            #expect(Self.fault { $0.upgrade = fields } == .upgrade, "\(fields)")
        }
        for fields in [["WebSocket"], ["h2c, websocket"], ["h2c", "WEBSOCKET"], [" websocket\t"]] {
            #expect(Self.fault { $0.upgrade = fields } == nil, "\(fields)")
        }
    }

    @Test func `judges only a request that names websocket, also in a malformed list (RFC 9110 §7.8)`() {
        func judgement(_ upgrade: [String], method: String = "GET") -> Result<String, OpeningHandshake.Fault>? {
            let request = Self.request { ($0.upgrade, $0.method) = (upgrade, method) }
            return OpeningHandshake.judge(request).map { $0.map(\.key) }
        }
        let others = (0..<OpeningHandshake.maximumTokens).map { "t\($0)" }.joined(separator: ",")
        for fields in [
            [], [""], ["h2c"], ["h2c,,"], ["websocket2"], ["web socket"], ["websocket/13"], [others],
            ["h2c,,websockets, web"],
        ] {
            #expect(judgement(fields) == nil, "\(fields)")
        }
        for fields in [
            ["websocket,"], ["@, WebSocket"], [",,", "h2c", "\twebsocket "], ["x y,WEBSOCKET,z"],
            [others + ", websocket"],
        ] {
            #expect(judgement(fields) == .failure(.upgrade), "\(fields)")
        }
        #expect(judgement(["h2c, websocket"]) == .success(Self.key))
        #expect(judgement(["websocket"], method: "POST") == .failure(.method))
        #expect(judgement(["h2c"], method: "POST") == nil)
    }

    @Test func `requires the token Upgrade in Connection, in any case and list (§4.2.1, item 4)`() {
        for fields in [[], ["keep-alive"], ["upgraded"], ["keep-alive upgrade"]] {
            #expect(Self.fault { $0.connection = fields } == .connection, "\(fields)")
        }
        for fields in [["upgrade"], ["keep-alive, Upgrade"], ["keep-alive", "UPGRADE"]] {
            #expect(Self.fault { $0.connection = fields } == nil, "\(fields)")
        }
        let tokens = (1..<OpeningHandshake.maximumTokens).map { "t\($0)" }.joined(separator: ",")
        #expect(Self.fault { $0.connection = [tokens + ",upgrade"] } == nil)
        #expect(Self.fault { $0.connection = [tokens + ",more,upgrade"] } == .connection)
    }

    @Test func `requires one key, of 16 bytes in strict base64 (§4.2.1, item 5)`() {
        let wrong = [
            "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25jZR==",
            "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZQ=A", "dGhlIHNhbXBsZSBub25jZTE=",
            "dGhlIHNhbXBsZSBub25jZSE0", "dGhlIHNhbXBsZSBub25j-Q==", " GhlIHNhbXBsZSBub25jZQ==",
            "dGhlIHNhbXBsZSBub25jZQ==\n",
        ]
        for key in wrong { #expect(Self.fault { $0.key = [key] } == .key, "\(key)") }
        #expect(Self.fault { $0.key = [] } == .key)
        #expect(Self.fault { $0.key = [Self.key, Self.key] } == .key)
        let own = AcceptKey.key(from: (0..<16).map { $0 })
        #expect(own == "AAECAwQFBgcICQoLDA0ODw==" && Self.fault { $0.key = [own] } == nil)
    }

    @Test func `requires one version, which is 13 (§4.2.1, item 6)`() {
        for version in ["8", "0", "14", "013", "13, 8", ""] {
            #expect(Self.fault { $0.webSocketVersion = [version] } == .unsupportedVersion, "\(version)")
        }
        #expect(Self.fault { $0.webSocketVersion = [] } == .version)
        #expect(Self.fault { $0.webSocketVersion = ["13", "13"] } == .version)
    }

    @Test func `requires subprotocols to be tokens, none empty, none repeated (§4.1, item 10)`() {
        for fields in [[""], ["a,"], [",a"], ["a,,b"], ["a b"], ["a, a"], ["a", "a"], ["ä"], ["a;b"], ["\"a\""]] {
            #expect(Self.fault { $0.protocols = fields } == .protocols, "\(fields)")
        }
        #expect(Self.fault { $0.protocols = ["a , A", "b"] } == nil)
        let most = (0..<OpeningHandshake.maximumProtocols).map { "p\($0)" }.joined(separator: ", ")
        #expect(Self.fault { $0.protocols = [most] } == nil)
        #expect(Self.fault { $0.protocols = [most, "one-more"] } == .protocols)
    }

    @Test func `chooses the subprotocol in the client's order (§4.2.2, item 5.5)`() throws {
        let handshake = try #require(OpeningHandshake.judge(Self.request { $0.protocols = ["c, b", "a"] })).get()
        #expect(handshake.subprotocol(known: ["a", "b"]) == "b")
        #expect(handshake.subprotocol(known: ["A"]) == nil)
        let without = try #require(OpeningHandshake.judge(Self.request { $0.protocols = [] })).get()
        #expect(without.subprotocol(known: ["a"]) == nil)
    }

    @Test func `reads extensions by their grammar (§9.1)`() throws {
        let fields = [
            "permessage-deflate; client_max_window_bits; server_max_window_bits=\"10\" , foo",
            "bar;a=\"b\\c\" ;d = e",
        ]
        let handshake = try #require(OpeningHandshake.judge(Self.request { $0.extensions = fields })).get()
        #expect(
            handshake.extensions == [
                WebSocketExtension(
                    "permessage-deflate",
                    [.init("client_max_window_bits"), .init("server_max_window_bits", "10")]),
                WebSocketExtension("foo"),
                WebSocketExtension("bar", [.init("a", "bc"), .init("d", "e")]),
            ])
        #expect(
            handshake.extensions[0].text == "permessage-deflate; client_max_window_bits; server_max_window_bits=10")
    }

    @Test func `refuses extensions that break the grammar (§9.1)`() {
        let wrong = [
            "", ",", "a,", ",a", "a;", "a;;b", "a;b=", "a;b=\"", "a;b=\"\"", "a;b=\"c d\"", "a;b=\"c\\\"", "a b",
            "a;b c",
            "a;=c", "a=b", "a;b=c=d", "ä", "a;b=\"c\"d",
        ]
        for field in wrong { #expect(Self.fault { $0.extensions = [field] } == .extensions, "\(field)") }
        let most = (0..<WebSocketExtension.maximumMembers).map { "e\($0)" }.joined(separator: ",")
        #expect(Self.fault { $0.extensions = [most] } == nil)
        #expect(Self.fault { $0.extensions = [most, "more"] } == .extensions)
        let parameters = (0..<WebSocketExtension.maximumParameters).map { "; p\($0)" }.joined()
        #expect(Self.fault { $0.extensions = ["e" + parameters] } == nil)
        #expect(Self.fault { $0.extensions = ["e" + parameters + "; more"] } == .extensions)
    }
}

@Suite("The answer to the opening handshake, as a client sees it")
struct OpeningAnswerTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="

    private static func check(
        status: Int = 101, upgrade: [String] = ["WebSocket"], connection: [String] = ["Upgrade"],
        accept: [String] = ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], protocols: [String] = ["b"],
        extensions: [String] = ["permessage-deflate"]
    ) throws(OpeningAnswer.Fault) -> OpeningAnswer {
        try OpeningAnswer.check(
            status: status, upgrade: upgrade, connection: connection, accept: accept, protocols: protocols,
            extensions: extensions, key: key, offeredProtocols: ["a", "b"], offeredExtensions: ["permessage-deflate"])
    }

    @Test func `equals the RFC's example (§1.3)`() throws {
        let answer = try Self.check()
        #expect(answer.subprotocol == "b" && answer.extensions == [WebSocketExtension("permessage-deflate")])
    }

    @Test func `fails for each of the items of §4.1`() {
        #expect(throws: OpeningAnswer.Fault.status) { try Self.check(status: 200) }
        #expect(throws: OpeningAnswer.Fault.upgrade) { try Self.check(upgrade: []) }
        #expect(throws: OpeningAnswer.Fault.upgrade) { try Self.check(upgrade: ["h2c"]) }
        #expect(throws: OpeningAnswer.Fault.connection) { try Self.check(connection: ["close"]) }
        #expect(throws: OpeningAnswer.Fault.accept) { try Self.check(accept: ["s3pPLMBiTxaQ9kYGzzhZRbK+xOp="]) }
        #expect(throws: OpeningAnswer.Fault.accept) { try Self.check(accept: []) }
        #expect(throws: OpeningAnswer.Fault.extensions) { try Self.check(extensions: ["other"]) }
        #expect(throws: OpeningAnswer.Fault.extensions) { try Self.check(extensions: [";"]) }
        #expect(throws: OpeningAnswer.Fault.subprotocol) { try Self.check(protocols: ["c"]) }
        #expect(throws: OpeningAnswer.Fault.subprotocol) { try Self.check(protocols: ["a", "b"]) }
    }
}
