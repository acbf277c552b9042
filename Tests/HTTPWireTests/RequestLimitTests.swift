import HTTPWire
import Testing

/// Each limit at its value, and one above it.
struct RequestLimitTests {
    @Test func `the defaults are those that the documentation gives`() {
        let limits = RequestLimits()
        #expect(limits.maximumLeadingEmptyLines == 1 && limits.maximumMethodBytes == 32)
        #expect(limits.maximumRequestLineBytes == 8_192 && limits.maximumFields == 100)
        #expect(limits.maximumFieldBytes == 8_192 && limits.maximumHeaderBytes == 16_384)
        #expect(limits.maximumBodyBytes == 65_536 && limits.maximumChunkLineBytes == 256)
        #expect(limits.maximumChunkExtensionBytes == 4_096 && limits.maximumTrailerBytes == 4_096)
    }

    @Test func `no limit can be negative or above the ceiling`() {
        var limits = RequestLimits()
        limits.maximumBodyBytes = .max
        limits.maximumFieldBytes = RequestLimits.ceiling + 1
        limits.maximumHeaderBytes = RequestLimits.ceiling
        limits.maximumFields = -1
        #expect(limits.maximumBodyBytes == RequestLimits.ceiling && limits.maximumFieldBytes == RequestLimits.ceiling)
        #expect(limits.maximumHeaderBytes == RequestLimits.ceiling && limits.maximumFields == 0)
    }

    private static var all: [WritableKeyPath<RequestLimits, Int>] {
        [
            \.maximumLeadingEmptyLines, \.maximumMethodBytes, \.maximumRequestLineBytes, \.maximumFields,
            \.maximumFieldBytes, \.maximumHeaderBytes, \.maximumBodyBytes, \.maximumChunkLineBytes,
            \.maximumChunkExtensionBytes, \.maximumTrailerBytes,
        ]
    }

    /// With any configuration, nothing traps or hangs.
    @Test func `every request ends with every limit at its minimum and maximum`() {
        for limit in Self.all {
            for value in [.min, 0, 1, 2, .max] {
                var limits = RequestLimits()
                limits[keyPath: limit] = value
                for sample in Samples.valid {
                    let bytes = Array(sample.utf8)
                    let whole = Transcript([bytes[...]], limits: limits)
                    #expect(whole.fault != nil || whole.consumed == bytes.count)
                    #expect(Transcript(bytes.indices.map { bytes[$0...$0] }, limits: limits).fault == whole.fault)
                }
            }
        }
    }

    @Test func `one empty line may come before the request line`() {
        check("\r\n" + request(), "\r\n\r\n" + request(), .tooManyEmptyLines)
        var limits = RequestLimits()
        limits.maximumLeadingEmptyLines = 0
        check(request(), "\r\n" + request(), .tooManyEmptyLines, limits)
    }

    @Test func `a method has at most its limit of bytes`() {
        func line(_ bytes: Int) -> String { request(String(repeating: "M", count: bytes) + " / HTTP/1.1") }
        check(line(32), line(33), .methodTooLong)
        #expect(fault(String(repeating: "M", count: 33)) == .methodTooLong, "before the end of the method")
    }

    @Test func `a request line has at most its limit of bytes`() {
        func line(_ bytes: Int) -> String {
            request("GET /" + String(repeating: "a", count: bytes - "GET / HTTP/1.1".utf8.count) + " HTTP/1.1")
        }
        check(line(8_192), line(8_193), .requestLineTooLong)
        for more in [2, 5, 8, 9, 10, 100] { #expect(fault(line(8_192 + more)) == .requestLineTooLong, "\(more)") }
        #expect(fault("GET /" + String(repeating: "a", count: 8_188)) == .requestLineTooLong)
    }

    @Test func `a header has at most its limit of fields`() {
        func fields(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X:\r\n", count: count - 1) + "\r\n"
        }
        check(fields(100), fields(101), .tooManyFields)
        #expect(fault(String(fields(101).dropLast(3))) == .tooManyFields, "at the first byte of its name")
    }

    @Test func `a field line has at most its limit of bytes`() {
        func field(_ bytes: Int, named name: String = "X") -> String {
            request("GET / HTTP/1.1", name + ":" + String(repeating: " ", count: bytes - name.utf8.count - 1))
        }
        check(field(8_192), field(8_193), .fieldTooLong)
        let name = String(repeating: "n", count: 8_191)
        check(field(8_192, named: name), field(8_193, named: name + "n"), .fieldTooLong)
        #expect(fault(String(request().dropLast()) + name + "nn") == .fieldTooLong, "before the colon")
    }

    @Test func `all fields together have at most the header's limit of bytes`() {
        func header(_ bytes: Int) -> String {
            let lines = "Host: a\r\nX:" + String(repeating: "x", count: 8_000) + "\r\nY:"
            let last = String(repeating: "y", count: bytes - lines.utf8.count - 2)
            return "GET / HTTP/1.1\r\n" + lines + last + "\r\n\r\n"
        }
        var limits = RequestLimits()
        limits.maximumHeaderBytes = 12_000
        check(header(12_000), header(12_001), .headerTooLarge, limits)
        let manyLines = "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: 4567\r\n", count: 1_332)
        limits.maximumFields = 2_000
        limits.maximumHeaderBytes = 9 * 1_333
        check(manyLines + "\r\n", manyLines + "X: 4567\r\n\r\n", .headerTooLarge, limits)
    }

    @Test func `a header at all of its limits is read from one piece with what follows it`() {
        var limits = RequestLimits()
        limits.maximumRequestLineBytes = 14
        limits.maximumHeaderBytes = 9
        let sample = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n" + String(repeating: "G", count: 20)
        let transcript = Transcript(sample, limits: limits)
        #expect(transcript.requests.count == 1 && transcript.fault == nil && transcript.consumed == sample.utf8.count)
    }

    @Test func `a body of known length above the limit is refused before any of it is read`() {
        func body(_ bytes: Int) -> String { request("POST / HTTP/1.1", "Content-Length: \(bytes)") }
        check(body(65_536), body(65_537), .bodyTooLarge)
        let whole = Transcript(body(65_536) + String(repeating: "b", count: 65_536))
        #expect(whole.requests.first?.body.count == 65_536 && whole.only != nil)
    }

    @Test func `a chunked body has at most its limit of bytes`() {
        func chunks(_ last: Int) -> String {
            Self.chunkedHead + "8000\r\n" + String(repeating: "b", count: 0x8000) + "\r\n" + String(last, radix: 16)
                + "\r\n" + String(repeating: "b", count: last) + "\r\n0\r\n\r\n"
        }
        check(chunks(0x8000), chunks(0x8001), .bodyTooLarge)
    }

    @Test func `a chunk's line has at most its limit of bytes`() {
        func line(_ bytes: Int) -> String {
            Self.chunkedHead + "1;" + String(repeating: "x", count: bytes - 2) + "\r\na\r\n0\r\n\r\n"
        }
        check(line(256), line(257), .chunkLineTooLong)
        func zeros(_ count: Int) -> String { Self.chunkedHead + String(repeating: "0", count: count) + "\r\n\r\n" }
        check(zeros(256), zeros(257), .chunkLineTooLong)
        func spaces(_ count: Int) -> String {
            Self.chunkedHead + "0" + String(repeating: " ", count: count - 2) + ";\r\n\r\n"
        }
        check(spaces(256), spaces(257), .chunkLineTooLong)
    }

    @Test func `the extensions of all chunks have at most their limit of bytes`() {
        let chunk = "1;" + String(repeating: "x", count: 127) + "\r\na\r\n"
        let chunks = Self.chunkedHead + String(repeating: chunk, count: 32)
        check(chunks + "0\r\n\r\n", chunks + "0;\r\n\r\n", .chunkExtensionsTooLong)
        #expect(fault(chunks + "1 ") == .chunkExtensionsTooLong, "white space counts, too")
    }

    @Test func `a trailer section has at most its limit of bytes`() {
        func trailers(_ bytes: Int) -> String {
            Self.chunkedHead + "0\r\nA: b\r\nX:" + String(repeating: "x", count: bytes - 10) + "\r\n\r\n"
        }
        check(trailers(4_096), trailers(4_097), .trailersTooLarge)
        let pipelined = Transcript(trailers(4_096) + request())
        #expect(pipelined.requests.count == 2 && pipelined.fault == nil)
    }

    @Test func `a trailer section has at most as many fields as a header`() {
        func trailers(_ count: Int) -> String {
            Self.chunkedHead + "0\r\n" + String(repeating: "X:\r\n", count: count) + "\r\n"
        }
        check(trailers(100), trailers(101), .tooManyFields)
    }

    @Test func `a trailer field has at most as many bytes as a header field`() {
        var limits = RequestLimits()
        limits.maximumFieldBytes = 40
        func trailer(_ bytes: Int) -> String {
            Self.chunkedHead + "0\r\nX:" + String(repeating: "x", count: bytes - 2) + "\r\n\r\n"
        }
        check(trailer(40), trailer(41), .fieldTooLong, limits)
    }

    private static let chunkedHead = request("POST / HTTP/1.1", "Transfer-Encoding: chunked")

    private func fault(_ text: String) -> RequestFault? { Transcript(text).fault }

    private func check(
        _ accepted: String, _ refused: String, _ fault: RequestFault, _ limits: RequestLimits = RequestLimits(),
        at location: SourceLocation = #_sourceLocation
    ) {
        for (text, expected) in [(accepted, nil), (refused, fault)] as [(String, RequestFault?)] {
            let bytes = Array(text.utf8)
            let whole = Transcript([bytes[...]], limits: limits)
            #expect(whole.fault == expected, sourceLocation: location)
            let singly = Transcript(bytes.indices.map { bytes[$0...$0] }, limits: limits)
            #expect(singly == whole, sourceLocation: location)
        }
    }
}
