import Testing

@testable import HTTPWire

/// How a parser handles a connection's bytes. Refusals are in `RequestDefectTests`.
struct RequestParserTests {
    @Test func `an upgrade request is read with its fields as sent and in order`() throws {
        let head = try #require(Transcript(Samples.upgrade).only)
        #expect(head.methodText == "GET" && head.isMethod("GET") && !head.isMethod("get") && !head.isMethod("GETS"))
        #expect(head.version == .http11 && head.targetForm == .origin && head.framing == .none)
        #expect(head.pathText == "/play" && head.isPath("/play") && !head.isPath("/pla"))
        #expect(head.queryText == "target=main&a=%2F")
        #expect(head.authorityText == "mud.example.org:8443")
        #expect(
            head.fields.map { text($0.name) } == [
                "Host", "Connection", "Upgrade", "Origin", "Sec-WebSocket-Version", "Sec-WebSocket-Key",
            ])
        #expect(text(head.fields[5].value) == "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test(arguments: Samples.valid) func `the result doesn't depend on how the input is split`(sample: String) {
        let bytes = Array(sample.utf8)
        let whole = Transcript([bytes[...]])
        #expect(whole.fault == nil && whole.requests.allSatisfy(\.isComplete) && whole.consumed == bytes.count)
        #expect(!whole.requests.isEmpty && !whole.hasBegun)
        for pieces in splits(of: bytes) { #expect(Transcript(pieces) == whole) }
    }

    @Test func `random splits of many requests give the same`() {
        var random = SystemRandomNumberGenerator()
        let bytes = Array(Samples.valid.joined().utf8)
        let whole = Transcript([bytes[...]])
        #expect(whole.fault == nil && whole.requests.count == 21)
        for _ in 0..<200 {
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...80, using: &random)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(Transcript(pieces) == whole, "\(pieces.map(\.count))")
        }
    }

    @Test(arguments: Samples.valid) func `a header that is written and parsed again is the same`(sample: String) throws
    {
        for parsed in Transcript(sample).requests {
            let bytes = parsed.head.canonical
            let again = try #require(Transcript([bytes[...]], limits: RequestLimits()).requests.first?.head)
            #expect(again.canonical == bytes && again.framing == parsed.head.framing)
            #expect(again.fields.map(\.value) == parsed.head.fields.map(\.value))
        }
    }

    @Test func `the parser stops after the header and after the body`() {
        let header = request("POST / HTTP/1.1", "Content-Length: 3")
        let bytes = Array((header + "abcGET").utf8)
        var parser = RequestParser()
        let first = parser.parse(bytes: bytes)
        #expect(first.consumed == header.utf8.count)
        guard case .head(let head) = first.event else {
            Issue.record("\(first)")
            return
        }
        #expect(head.framing == .length(3))
        let body = parser.parse(bytes: Array(bytes[first.consumed...]))
        #expect(body == progress(.body(0..<3), 3))
        for _ in 0..<2 { #expect(parser.parse(bytes: Array("GET".utf8)) == progress(.end, 0)) }
        parser.reset()
        #expect(!parser.hasBegun)
        #expect(parser.parse(bytes: Array("GET".utf8)) == progress(.needsMore, 3))
        #expect(parser.hasBegun)
    }

    @Test func `a request without body ends with its header, without more input`() {
        for fields in ["X: y", "Content-Length: 0"] {
            var parser = RequestParser()
            guard case .head = parser.parse(bytes: Array(request("POST / HTTP/1.1", fields).utf8)).event else {
                Issue.record("no header")
                return
            }
            #expect(parser.parse(bytes: []) == progress(.end, 0))
        }
    }

    @Test func `the parser waits for a body that hasn't arrived`() {
        var parser = RequestParser()
        _ = parser.parse(bytes: Array(request("POST / HTTP/1.1", "Content-Length: 3").utf8))
        #expect(parser.parse(bytes: []) == progress(.needsMore, 0))
        #expect(parser.parse(bytes: [1, 2]) == progress(.body(0..<2), 2))
        #expect(parser.parse(bytes: [3, 4]) == progress(.body(0..<1), 1))
        #expect(parser.parse(bytes: [4]) == progress(.end, 0))
    }

    @Test func `a request has begun with the first byte of its line, not with an empty line before it`() {
        var parser = RequestParser()
        for byte in "\r\n".utf8 {
            #expect(parser.parse(bytes: [byte]).event == .needsMore)
            #expect(!parser.hasBegun)
        }
        #expect(parser.parse(bytes: Array("G".utf8)).event == .needsMore)
        #expect(parser.hasBegun)
    }

    @Test func `after a fault nothing else is read, not even after a reset`() {
        var parser = RequestParser()
        #expect(parser.parse(bytes: Array("GET  /".utf8)).event == .malformed(.requestLineMalformed))
        for _ in 0..<2 {
            #expect(parser.parse(bytes: Array(Samples.upgrade.utf8)) == progress(.malformed(.requestLineMalformed), 0))
            parser.reset()
        }
    }

    @Test func `a malformed request is known to be a HEAD, whose response has no content`() {
        #expect(Transcript("HEAD / HTTP/1.1\r\n\r\n").isHead)
        #expect(Transcript("HEAD  ").isHead)
        #expect(!Transcript("HEADS / HTTP/1.1\r\n\r\n").isHead)
        #expect(!Transcript("GET / HTTP/1.1\r\n\r\n").isHead)
        #expect(!Transcript("HEAD").isHead)
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "DELETE"])
    func `a body is read, whatever the method`(method: String) {
        let length = Transcript(request("\(method) / HTTP/1.1", "Content-Length: 2") + "hi" + request())
        #expect(length.requests.count == 2 && text(length.requests[0].body) == "hi")
        let chunks = Transcript(request("\(method) / HTTP/1.1", "Transfer-Encoding: chunked") + "2\r\nhi\r\n0\r\n\r\n")
        #expect(chunks.requests.count == 1 && text(chunks.requests[0].body) == "hi")
    }

    @Test func `chunks are joined, and their extensions and trailers are dropped`() throws {
        let transcript = Transcript(Samples.chunked)
        #expect(transcript.only?.framing == .chunked)
        #expect(text(transcript.requests.first?.body ?? []) == "hello world")
        #expect(transcript.only?.fields.count == 2)
    }

    @Test(arguments: ["A", "a", "0a", "0000A", "A;", "A;;", "A ;x", "A \t; x = \"\u{e4};\\\" \"", "a;=,"])
    func `a chunk size is hexadecimal, with extensions of any kind`(line: String) {
        let transcript = Transcript(
            request("POST / HTTP/1.1", "Transfer-Encoding: Chunked") + line + "\r\n0123456789\r\n0\r\n\r\n")
        #expect(text(transcript.requests.first?.body ?? []) == "0123456789", "\(transcript)")
        #expect(transcript.only != nil)
    }

    private func progress(_ event: RequestEvent, _ consumed: Int) -> RequestProgress {
        RequestProgress(event: event, consumed: consumed)
    }
}
