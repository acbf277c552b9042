import EdgeTestKit
import Testing

extension EdgeTests {
    /// The boundary between requests must never be ambiguous.
    @Suite struct HTTPFramingTests {
        struct BadFraming: Sendable, CustomTestStringConvertible {
            let name: String
            let request: String
            var status = 400
            var testDescription: String { name }

            init(_ name: String, _ method: String, _ headers: String, body: String = "", status: Int = 400) {
                self.name = name
                self.status = status
                let path = method == "GET" ? "/health" : "/attest/register"
                request = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\(body)"
            }
        }

        static let badFramings = [
            BadFraming("identity", "POST", "Transfer-Encoding: identity\r\n", body: "{}", status: 501),
            BadFraming(
                "identity and a length", "POST", "Transfer-Encoding: identity\r\nContent-Length: 2\r\n", body: "{}"),
            BadFraming("two encodings", "POST", "Transfer-Encoding: gzip, chunked\r\n", body: "{}", status: 501),
            BadFraming(
                "a chunk without a size", "POST", "Transfer-Encoding: chunked\r\n", body: "x\r\n{}\r\n0\r\n\r\n"),
            BadFraming(
                "chunked and a length", "POST", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", body: "{}"),
            BadFraming("two lengths", "POST", "Content-Length: 2\r\nContent-Length: 40\r\n", body: "{}"),
            BadFraming("two equal lengths", "POST", "Content-Length: 2\r\nContent-Length: 2\r\n", body: "{}"),
            BadFraming("a list of lengths", "POST", "Content-Length: 2, 2\r\n", body: "{}"),
            BadFraming("a negative length", "POST", "Content-Length: -2\r\n", body: "{}"),
            BadFraming("a signed length", "POST", "Content-Length: +2\r\n", body: "{}"),
            BadFraming("a word for a length", "POST", "Content-Length: two\r\n", body: "{}"),
            BadFraming("a hexadecimal length", "POST", "Content-Length: 0x2\r\n", body: "{}"),
            BadFraming("an empty length", "POST", "Content-Length:\r\n", body: "{}"),
            BadFraming(
                "a length beyond every integer", "POST", "Content-Length: 99999999999999999999999\r\n", body: "{}"),
            BadFraming("no length", "POST", "", body: "{}", status: 411),
        ]

        /// The following request must not be served: the answer is the last data on the connection.
        @Test(arguments: badFramings)
        func `ambiguous framing is refused and nothing after it is served`(framing: BadFraming) async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let connection = try await edge.gateway.connect()
            try await connection.send(framing.request + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await connection.lastAnswer()
            #expect(answer.status == framing.status, "\(answer)")
            try await edge.expectHealthy()
        }

        /// RFC 9112 section 6: a GET's body is read although it has no meaning.
        @Test(arguments: [
            "Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", "Content-Length: 0\r\n\r\n",
        ])
        func `a body is read to its end and the next request is served`(rest: String) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            let next = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            connection.post(Array(("GET /health HTTP/1.1\r\nHost: localhost\r\n" + rest + next).utf8))
            let text = String(decoding: try await connection.receiveToEnd(within: .seconds(30)), as: UTF8.self)
            #expect(text.ranges(of: "HTTP/1.1 200 OK").count == 2, "\(text)")
        }

        /// Each is answered with our JSON, and none of them reaches an endpoint.
        @Test(arguments: [
            ("GET /health HTTP/1.1\r\n\r\n", 400), ("GET /health HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
            ("GET /health HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET /health HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
            ("GET /health HTTP/1.1\nHost: a\n\n", 400), ("GET health HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET /health HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("DELETE /health HTTP/1.1\r\nHost: a\r\n\r\n", 405), ("BREW /health HTTP/1.1\r\nHost: a\r\n\r\n", 501),
            ("POST /health HTTP/1.1\r\nHost: a\r\nExpect: x\r\nContent-Length: 0\r\n\r\n", 417),
            ("GET /\(String(repeating: "x", count: 9_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
            ("GET /health HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 17_000))\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 426), ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 404),
        ])
        func `every refusal is a response that its client can read`(request: String, status: Int) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(Array(request.utf8))
            let answer = try await connection.answer()
            #expect(answer.status == status, "\(answer)")
            #expect(answer.code != nil && answer.requestID != nil && answer.errorText != nil, "\(answer)")
            #expect(status != 405 || answer["allow"] == "GET, HEAD, OPTIONS")
            #expect(status != 426 || answer["upgrade"] == "websocket")
        }

        @Test(arguments: [("*", "OPTIONS"), ("/health", "GET, HEAD, OPTIONS")])
        func `OPTIONS is allowed`(target: String, allowed: String) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(Array("OPTIONS \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            let answer = try await connection.answer()
            #expect(answer.status == 204 && answer["allow"] == allowed, "\(answer)")
        }

        /// RFC 9112 section 3.2.2: the target's host counts.
        @Test func `a target in absolute form is served`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(Array("GET http://x/health HTTP/1.1\r\nHost: y\r\n\r\n".utf8))
            #expect(try await connection.answer().status == 200)
        }

        @Test func `a client that sends Expect gets 100 Continue`() async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(
                Array("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".utf8))
            let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            #expect(try await connection.receive(interim.count) == interim)
            connection.post(Array("{}".utf8))
            #expect(try await connection.answer().status == 404)
        }

        @Test func `a header that doesn't end in time is answered with 408`() async throws {
            let edge = try await Edge.start { $0.setting("REQUEST_TIMEOUT_MS", 300) }
            let connection = try await edge.gateway.connect()
            connection.post(Array("GET /health HT".utf8))
            #expect(try await connection.lastAnswer().status == 408)
        }

        /// Neither a short name nor a long one with a known prefix swallows the next header.
        @Test(arguments: ["X", "X-A", "Re", "Accept-C", "Get", "Sec-WebSocket-"])
        func `no header field hides the next one`(name: String) async throws {
            let edge = try await Edge.start()
            let connection = try await edge.gateway.connect()
            connection.post(
                Array("GET /health HTTP/1.1\r\nHost: a\r\n\(name): y\r\nConnection: close\r\n\r\n".utf8))
            #expect(try await connection.lastAnswer()["connection"] == "close")
        }
    }
}
