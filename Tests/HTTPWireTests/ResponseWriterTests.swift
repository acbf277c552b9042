import HTTPWire
import Testing

struct ResponseWriterTests {
    @Test func `a whole response has its fields, its length and its body`() {
        var response = Response(.ok)
        response.add("Content-Type", "text/plain")
        response.add("X-Empty", "")
        #expect(
            written(response, body: "hello")
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Empty: \r\nConnection: keep-alive\r\n"
                + "Content-Length: 5\r\n\r\nhello")
        #expect(written(Response(.notFound)).hasSuffix("\r\nContent-Length: 0\r\n\r\n"))
    }

    @Test func `the response to a HEAD has the length and no body`() {
        let head = written(Response(.ok), body: "hello", ResponseWriter(isHead: true, closesConnection: false))
        #expect(head == String(written(Response(.ok), body: "hello").dropLast(5)))
    }

    /// RFC 9110 §8.6, §15.3.6.
    @Test func `statuses without content have no body, and no length except zero for 205`() {
        for status in [ResponseStatus.noContent, .notModified] {
            let text = written(Response(status), body: "hello")
            #expect(!text.contains("Content-Length") && text.hasSuffix("\r\nConnection: keep-alive\r\n\r\n"))
        }
        #expect(written(Response(.resetContent), body: "hello").hasSuffix("Content-Length: 0\r\n\r\n"))
    }

    @Test func `a 101 has its fields and neither length nor body`() {
        var response = Response(.switchingProtocols)
        response.add("Upgrade", "websocket")
        response.add("Sec-WebSocket-Accept", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(
            written(response, body: "x")
                == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nConnection: Upgrade\r\n\r\n")
    }

    /// RFC 9110 §7.8.
    @Test func `a 101 without protocol or for HTTP 1.0 is a 500`() {
        #expect(written(Response(.switchingProtocols)) == Self.failure)
        var response = Response(.switchingProtocols)
        response.add("upgrade", "websocket")
        #expect(written(response, ResponseWriter(version: .http10, closesConnection: false)) == Self.failure)
    }

    @Test func `an Upgrade field adds its connection option`() {
        var response = Response(.upgradeRequired)
        response.add("Upgrade", "websocket")
        #expect(written(response).contains("\r\nConnection: keep-alive, Upgrade\r\n"))
        #expect(
            written(response, ResponseWriter(closesConnection: true)).contains("\r\nConnection: close, Upgrade\r\n"))
    }

    @Test func `the connection is closed or kept as the request says`() throws {
        for (sample, closes) in [(request(), false), (request("GET / HTTP/1.1", "Connection: close"), true)] {
            let writer = ResponseWriter(for: try #require(Transcript(sample).only))
            #expect(writer.closesConnection == closes)
            #expect(written(Response(.ok), writer).contains("Connection: \(closes ? "close" : "keep-alive")\r\n"))
        }
        let head = try #require(Transcript(request("HEAD / HTTP/1.1")).only)
        #expect(written(Response(.ok), body: "hello", ResponseWriter(for: head)).hasSuffix("\r\n\r\n"))
    }

    @Test func `a streamed response is in chunks`() {
        var writer = ResponseWriter(closesConnection: false)
        let text = streamed(["hello", "", String(repeating: "w", count: 26)], &writer)
        #expect(
            text
                == "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1a\r\n"
                + String(repeating: "w", count: 26) + "\r\n0\r\n\r\n")
        #expect(writer.hasEnded && !writer.closesConnection)
    }

    @Test func `for HTTP 1.0 the end of the connection ends the stream`() {
        var writer = ResponseWriter(version: .http10, closesConnection: false)
        #expect(streamed(["hello", " world"], &writer) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world")
        #expect(writer.closesConnection && writer.hasEnded)
    }

    @Test func `the stream of a HEAD has no chunks, not even the last`() {
        var writer = ResponseWriter(isHead: true, closesConnection: false)
        #expect(streamed(["hello"], &writer).hasSuffix("Transfer-Encoding: chunked\r\n\r\n"))
        #expect(writer.hasEnded)
    }

    @Test func `a status without content isn't streamed`() {
        var writer = ResponseWriter(closesConnection: false)
        #expect(
            streamed(["hello"], &writer, .noContent) == "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n")
    }

    @Test func `100 Continue comes before the response, and HTTP 1.0 gets none`() {
        var output: [UInt8] = []
        var writer = ResponseWriter(closesConnection: false)
        writer.writeContinue(into: &output)
        #expect(text(output) == "HTTP/1.1 100 Continue\r\n\r\n" && !writer.hasEnded)
        writer.write(Response(.ok), into: &output)
        #expect(text(output).contains("HTTP/1.1 200 OK\r\n"))
        var old = ResponseWriter(version: .http10, closesConnection: false)
        var none: [UInt8] = []
        old.writeContinue(into: &none)
        #expect(none.isEmpty && !old.hasEnded)
    }

    @Test func `an interim status isn't a response`() {
        #expect(written(Response(.continue)) == Self.failure)
        #expect(written(Response(code: 103)) == Self.failure)
    }

    @Test func `calls in the wrong order write nothing`() {
        var writer = ResponseWriter(closesConnection: false)
        var output: [UInt8] = []
        write("a", &writer, into: &output)
        writer.endStream(into: &output)
        #expect(output.isEmpty && !writer.hasEnded)
        writer.write(Response(.ok), into: &output)
        let whole = output
        writer.write(Response(.ok), into: &output)
        writer.beginStream(Response(.ok), into: &output)
        write("a", &writer, into: &output)
        writer.endStream(into: &output)
        writer.writeContinue(into: &output)
        #expect(output == whole && writer.hasEnded)
    }

    @Test(arguments: [
        ("", "x"), ("X Y", "x"), ("X:", "x"), ("X\r\nY", "x"), ("X\n", "x"), ("\u{e4}", "x"), ("X\u{0}", "x"),
        ("X", "a\r\nSet-Cookie: b"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\u{0}b"), ("X", "a\u{7f}"),
        ("X", "\u{1b}[0m"),
        ("X", " a"), ("X", "a\t"), ("X", " "), ("X", "\r\n"), ("Content-Length", "5"), ("content-length", "5"),
        ("Transfer-Encoding", "chunked"), ("CONNECTION", "close"),
    ])
    func `no field can split the header or change the framing`(name: String, value: String) {
        #expect(ResponseField(name, value) == nil)
        var response = Response(.ok)
        response.add("X-Before", "kept")
        response.add(name, value)
        response.add("X-After", "kept")
        #expect(response.isInvalid)
        #expect(written(response, body: "hello") == Self.failure)
        var writer = ResponseWriter(closesConnection: false)
        #expect(streamed(["hello"], &writer) { $0.add(name, value) } == Self.failure)
        #expect(writer.closesConnection && writer.hasEnded)
    }

    @Test func `a field's value may have tabs and UTF-8 and may be empty`() {
        for value in ["", "a\tb", "\u{e4}\u{20ac}", "\"a, b\"", "a b"] {
            #expect(ResponseField("X-a.b!", value) != nil)
        }
    }

    @Test(arguments: [-1, 0, 99, 600, 1_000]) func `an invalid status code is sent as 500`(code: Int) {
        #expect(ResponseStatus(code) == nil)
        #expect(written(Response(code: code)) == Self.failure)
    }

    /// RFC 9110 §15: 15.2 to 15.6, without the unused 306 and 418.
    @Test func `every status of RFC 9110 has a reason phrase`() {
        let all =
            [100, 101] + Array(200...206) + Array(300...305) + [307, 308] + Array(400...417) + [421, 422, 426]
            + Array(500...505)
        for code in all { #expect(ResponseStatus(code)?.reasonPhrase.isEmpty == false, "\(code)") }
        #expect(ResponseStatus(413)?.reasonPhrase == "Content Too Large")
        #expect(ResponseStatus(431)?.reasonPhrase == "Request Header Fields Too Large")
        #expect(written(Response(code: 299)).hasPrefix("HTTP/1.1 299 \r\n"))
        #expect(
            written(Response(code: 100)) == Self.failure && written(Response(code: 599)).hasPrefix("HTTP/1.1 599 \r\n"))
    }

    private static let failure =
        "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

    private func written(
        _ response: Response, body: String = "", _ writer: ResponseWriter = ResponseWriter(closesConnection: false)
    ) -> String {
        var writer = writer
        var output: [UInt8] = []
        writer.write(response, body: Array(body.utf8), into: &output)
        return text(output)
    }

    private func streamed(
        _ pieces: [String], _ writer: inout ResponseWriter, _ status: ResponseStatus = .ok,
        _ change: (inout Response) -> Void = { _ in }
    ) -> String {
        var response = Response(status)
        change(&response)
        var output: [UInt8] = []
        writer.beginStream(response, into: &output)
        for piece in pieces { write(piece, &writer, into: &output) }
        writer.endStream(into: &output)
        return text(output)
    }

    private func write(_ piece: String, _ writer: inout ResponseWriter, into output: inout [UInt8]) {
        let bytes = Array(piece.utf8)
        writer.writePiece(bytes.span, into: &output)
    }
}
