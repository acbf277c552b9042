import HTTPWire
import Testing

@testable import Reactors

/// The request data that an upgrade exposes.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct UpgradeRequestTests {
    private static let names = [
        "binary", "telnet", "telnet.mudstandards.org", "terminal.mudstandards.org", "gmcp.mudstandards.org",
        "json.mudstandards.org",
    ]

    private static let offers =
        names.map { ($0, $0) } + [
            ("json.mudstandards.org, gmcp.mudstandards.org", "json.mudstandards.org"),
            ("x.y, gmcp.mudstandards.org,telnet", "gmcp.mudstandards.org"),
            ("terminal.mudstandards.or, telnet", "telnet"), ("Telnet,binary", "binary"),
        ]

    @Test func `the answer names the chosen subprotocol`() async throws {
        let bench = EdgeBench(on: TestReactor.started())
        let port = try await bench.serve(EdgeSettings(tls: nil, subprotocols: Self.names, limits: EdgeLimits()))
        var events = bench.events.filter { $0 != .opened && $0 != .closed }.makeAsyncIterator()
        for (offer, chosen) in Self.offers {
            let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
            socket.write(upgradeRequest("Sec-WebSocket-Protocol: \(offer)"))
            let head = try #require(socket.readHead())
            #expect(head.hasPrefix("HTTP/1.1 101"))
            #expect(head.lowercased().contains("sec-websocket-protocol: \(chosen)\r\n"))
            #expect(await events.next() == .upgrade(path: "/", subprotocol: chosen))
            socket.close()
        }
        await bench.stop()
    }

    @Test func `without an offer no subprotocol is reported or named`() async throws {
        let bench = EdgeBench()
        let port = try await bench.serve(EdgeSettings(tls: nil, subprotocols: Self.names, limits: EdgeLimits()))
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest())
        let head = try #require(socket.readHead())
        #expect(head.hasPrefix("HTTP/1.1 101"))
        #expect(!head.lowercased().contains("sec-websocket-protocol"))
        var events = bench.events.makeAsyncIterator()
        #expect(await events.next() == .upgrade(path: "/", subprotocol: nil))
        socket.close()
        await bench.stop()
    }

    /// RFC 9110 §7.8: the client lists what it would speak, and the gateway chooses.
    @Test(arguments: ["h2c, websocket", "websocket, h2c", "h2c\r\nUpgrade: WebSocket", "foo/2, WEBSOCKET"])
    func `an upgrade that lists websocket among others opens a WebSocket`(list: String) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest(upgrade: list))
        let head = try #require(socket.readHead())
        #expect(head.hasPrefix("HTTP/1.1 101 ") && head.contains("Upgrade: websocket\r\n"))
        socket.close()
        await bench.stop()
    }

    @Test func `a query is decoded once, and encoded separators are data`() async throws {
        let query = try #require(
            try await Self.query(
                "/?plain=a&space=a+b%20c&amp=x%26plain%3Dy&text=Gr%C3%BC%C3%9Fe&twice=%2541&empty=&bare&plus=%2B"))
        #expect(query["plain"] == .value("a"))
        #expect(query["space"] == .value("a b c"))
        #expect(query["amp"] == .value("x&plain=y"))
        #expect(query["text"] == .value("Grüße"))
        #expect(query["twice"] == .value("%41"))
        #expect(query["empty"] == .value(""))
        #expect(query["bare"] == .value(""))
        #expect(query["plus"] == .value("+"))
    }

    @Test func `an encoded name equals the plain one, so that it can't hide a duplicate`() async throws {
        #expect(try await Self.query("/?ticket=a&%74icket=b")?["ticket"] == .malformed)
        #expect(try await Self.query("/?ticket=a;ticket=b")?["ticket"] == .value("a;ticket=b"))
        #expect(try await Self.query("/?ticket%3Da=b")?["ticket"] == .absent)
    }

    @Test func `with more than sixteen parameters all are malformed`() async throws {
        let most = (0..<16).map { "p\($0)=\($0)" }.joined(separator: "&")
        #expect(try await Self.query("/?" + most)?["p15"] == .value("15"))
        #expect(try await Self.query("/?" + most + "&q=1")?["p15"] == .malformed)
    }

    @Test(arguments: ["/?a=b c", "/?a=#", "/?a=\u{E9}"])
    func `a target that is no URI causes no upgrade`(target: String) async throws {
        #expect(try await Self.query(target) == nil)
    }

    /// Such escapes aren't decoded, so they can't end a line.
    @Test(arguments: ["/?a=%0aX:y", "/?a=%0D%0AX:y", "/?a=%00", "/?a=%zz", "/?a=%4"])
    func `a parameter that is malformed or decodes to a control character has no value`(target: String) async throws {
        #expect(try await Self.query(target)?["a"] == .malformed)
    }

    /// If there are several, all are reported, so none can hide behind another.
    @Test func `credentials are read as they were sent`() async throws {
        #expect(try await Self.authorization(["Authorization: Bearer a b=,c"]) == "Bearer a b=,c")
        #expect(try await Self.authorization(["AUTHORIZATION:bearer x"]) == "bearer x")
        #expect(try await Self.authorization([]) == nil)
        let both = try await Self.authorization(["Authorization: Bearer a", "Authorization: Bearer b"])
        #expect(both != "Bearer a" && both != "Bearer b")
    }

    /// The input is neither served nor parsed again and again: another client is answered meanwhile.
    @Test(arguments: [
        "\u{1}\u{2}\r\n\r\n", "GET /marker HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n",
    ])
    func `a request above the second limit isn't answered or handled`(request: String) async throws {
        let bench = EdgeBench()
        let port = try await bench.serve()
        await bench.reactor.run { bench.limitation = .close }
        let flooder = try PlainSocket.connected(host: "127.0.0.1", port: port)
        flooder.write(Array(request.utf8))
        #expect(flooder.readAll() ?? [] == [])
        #expect(await bench.reactor.run { bench.seen == nil })
        await bench.reactor.run { bench.limitation = .serve(client: nil) }
        let other = try PlainSocket.connected(host: "127.0.0.1", port: port)
        other.write(Array("GET / HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        #expect(try #require(other.readHead()).hasPrefix("HTTP/1.1 404 "))
        [flooder, other].forEach { $0.close() }
        await bench.stop()
    }

    private static func authorization(_ fields: [String]) async throws -> String? {
        let bench = EdgeBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest(fields.joined(separator: "\r\n")))
        socket.finish()
        _ = socket.readAll()
        socket.close()
        await bench.stop()
        return try #require(await bench.reactor.run { bench.seen }).authorization
    }

    /// - Returns: the query that the handler saw; nil if no upgrade was requested.
    private static func query(_ target: String) async throws -> RequestQuery? {
        let bench = EdgeBench()
        let port = try await bench.serve()
        let socket = try PlainSocket.connected(host: "127.0.0.1", port: port)
        socket.write(upgradeRequest(target: target))
        socket.finish()
        _ = socket.readAll()
        socket.close()
        await bench.stop()
        return await bench.reactor.run { bench.seen?.query }
    }
}
