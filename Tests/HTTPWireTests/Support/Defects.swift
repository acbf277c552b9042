import HTTPWire
import Testing

/// One defect, and the byte that reveals it: the first one after `‖`.
struct Defect: Sendable, CustomTestStringConvertible {
    let name: String
    let sample: String
    let fault: RequestFault

    init(_ name: String, _ sample: String, _ fault: RequestFault) {
        self.name = name
        self.sample = sample
        self.fault = fault
    }

    var testDescription: String { name }

    /// The valid bytes, then the invalid one with the bytes after it. Characters up to U+00FF represent single bytes.
    var halves: [[UInt8]] {
        sample.split(separator: "‖", omittingEmptySubsequences: false).map {
            $0.unicodeScalars.map { UInt8($0.value) }
        }
    }
}

enum Defects {
    static let all = lineDefects + fieldDefects + hostDefects + framingDefects + chunkDefects

    private static let lines: [Defect] = [
        Defect("a TLS record", "‖\u{16}\u{3}\u{1}\u{2}\u{0}", .methodByte),
        Defect("binary data", "‖\u{0}\u{0}", .methodByte),
        Defect("obs-text at the start", "‖\u{80}", .methodByte),
        Defect("a PROXY header of version 2", "\r\n‖\r\n\u{0}\r\nQUIT\n", .tooManyEmptyLines),
        Defect("a second empty line", "\r\n‖\r\nGET / HTTP/1.1\r\n", .tooManyEmptyLines),
        Defect("a bare LF as empty line", "‖\nGET / HTTP/1.1\r\n", .bareLF),
        Defect("a bare CR as empty line", "\r‖GET / HTTP/1.1\r\n", .bareCR),
        Defect("a control byte in the method", "GE‖\u{7f}T / HTTP/1.1\r\n", .methodByte),
        Defect("a colon in the method", "GE‖: / HTTP/1.1\r\n", .methodByte),
        Defect("a space before the method", "‖ GET / HTTP/1.1\r\n", .requestLineMalformed),
        Defect("a tab behind the method", "GET‖\t/ HTTP/1.1\r\n", .requestLineMalformed),
        Defect("a method alone", "GET‖\r\n", .requestLineMalformed),
        Defect("a method alone with LF", "GET‖\n", .bareLF),
        Defect("two spaces behind the method", "GET ‖ / HTTP/1.1\r\n", .requestLineMalformed),
        Defect("no target", "GET ‖\r\n", .requestLineMalformed),
        Defect("HTTP/0.9", "GET /‖\r\n", .requestLineMalformed),
        Defect("a tab behind the target", "GET /‖\tHTTP/1.1\r\n", .requestLineMalformed),
        Defect("two spaces behind the target", "GET / ‖ HTTP/1.1\r\n", .requestLineMalformed),
        Defect("an empty version", "GET / ‖\r\n", .requestLineMalformed),
        Defect("a version in lower case", "GET / ‖http/1.1\r\n", .versionMalformed),
        Defect("another protocol", "GET / H‖ATP/1.1\r\n", .versionMalformed),
        Defect("a version without slash", "GET / HTTP‖1.1\r\n", .versionMalformed),
        Defect("a version without major number", "GET / HTTP/‖.1\r\n", .versionMalformed),
        Defect("a version with a comma", "GET / HTTP/1‖,1\r\n", .versionMalformed),
        Defect("a version with a letter", "GET / HTTP/1.‖x\r\n", .versionMalformed),
        Defect("a version that ends early", "GET / HTTP/1‖\r\n", .versionMalformed),
        Defect("a version of two digits", "GET / HTTP/1.1‖0\r\n", .requestLineMalformed),
        Defect("a space behind the version", "GET / HTTP/1.1‖ \r\n", .requestLineMalformed),
        Defect("a bare LF behind the request line", "GET / HTTP/1.1‖\nHost: a\r\n\r\n", .bareLF),
        Defect("a bare LF within the version", "GET / HTTP‖\n", .bareLF),
        Defect("a bare CR behind the request line", "GET / HTTP/1.1\r‖Host: a\r\n\r\n", .bareCR),
        Defect("HTTP/2.0", "PRI * HTTP/2.0\r‖\n\r\nSM\r\n\r\n", .versionNotSupported),
        Defect("HTTP/0.9 by name", "GET / HTTP/0.9\r‖\n", .versionNotSupported),
        Defect("HTTP/1.2", "GET / HTTP/1.2\r‖\n", .versionNotSupported),
        Defect("HTTP/9.1", "GET / HTTP/9.1\r‖\n", .versionNotSupported),
        Defect("a control byte in the target", "GET /\u{1}".marked + " HTTP/1.1\r\n", .targetByte),
        Defect("NUL in the target", "GET /\u{0}".marked + " HTTP/1.1\r\n", .targetByte),
        Defect("DEL in the target", "GET /\u{7f}".marked + " HTTP/1.1\r\n", .targetByte),
        Defect("a byte of UTF-8 in the target", "GET /\u{c3}".marked + "\u{a4} HTTP/1.1\r\n", .targetByte),
        Defect("a fragment in the target", "GET /a#".marked + "b HTTP/1.1\r\n", .targetByte),
        Defect("a bare LF in the target", "GET /\n".marked + "b HTTP/1.1\r\n", .bareLF),
    ]

    private static let targetBytes: [Defect] =
        ["\"", "<", ">", "\\", "^", "`", "{", "|", "}"].map {
            Defect("\($0) in the path", "GET /\($0)".marked + " HTTP/1.1\r\n", .targetByte)
        }
        + ["\"", "<", ">", "#", "\u{0}", "\u{1f}", "\u{7f}", "\u{80}", "\u{ff}"].map {
            Defect("\($0) in the query", "GET /?a=\($0)".marked + " HTTP/1.1\r\n", .targetByte)
        }

    private static let targets: [Defect] = [
        "/%", "/%4", "/%4g", "/%g4", "/[", "/]?", "a", "a/b", "*", "a:80", "?a",
        "http:/a/", "http:///", "http://", "http://u@a/", "http://a:x/", "http://a:65536/", "http://[::1/",
        "http://a/%", "http://a[", "ftp://a/", "https//a/", "http://a:80:80/",
    ].map {
        Defect("the target \($0)", "GET \($0) HTTP/1.1\r\nHost: a\r\n\r‖\n", .targetMalformed)
    }

    private static let connectTargets: [Defect] =
        ["/", "a", "a:", "*", "http://a:80/", ":80", "[::1]", "a:80:80", "a@b:80", "a:99999", "a:0080x"].map {
            Defect("CONNECT \($0)", "CONNECT \($0) HTTP/1.1\r\nHost: a\r\n\r‖\n", .targetMalformed)
        }

    private static let lineDefects = lines + targetBytes + targets + connectTargets

    private static let start = "GET / HTTP/1.1\r\nHost: a\r\n"

    private static let fields: [Defect] = [
        Defect("a folded line", start + "X: y\r\n‖ z\r\n\r\n", .foldedLine),
        Defect("a line folded with a tab", start + "X: y\r\n‖\tz\r\n\r\n", .foldedLine),
        Defect("white space before the first field", "GET / HTTP/1.1\r\n‖ Host: a\r\n\r\n", .foldedLine),
        Defect("a space before the colon", start + "X‖ : y\r\n\r\n", .spaceBeforeColon),
        Defect("a tab before the colon", start + "X‖\t: y\r\n\r\n", .spaceBeforeColon),
        Defect("a space within a name", start + "X‖ Y: z\r\n\r\n", .spaceBeforeColon),
        Defect("an empty name", start + "‖: y\r\n\r\n", .fieldNameEmpty),
        Defect("a line without colon", start + "X‖\r\n\r\n", .colonMissing),
        Defect("a bare LF in a name", start + "X‖\n\r\n", .bareLF),
        Defect("a bare LF in place of a name", start + "‖\nX: y\r\n\r\n", .bareLF),
        Defect("a bare LF in a value", start + "X: y‖\nZ: z\r\n\r\n", .bareLF),
        Defect("a bare CR in a value", start + "X: y\r‖z\r\n\r\n", .bareCR),
        Defect("two CRs behind a value", start + "X: y\r‖\r\n\r\n", .bareCR),
        Defect("a bare CR as last line", start + "\r‖X", .bareCR),
        Defect("a second CR in the last line", start + "\r‖\r\n", .bareCR),
        Defect("a slash in a name", start + "X‖/Y: z\r\n\r\n", .fieldNameByte),
        Defect("a quotation mark before a name", start + "‖\"X\": z\r\n\r\n", .fieldNameByte),
        Defect("NUL in a name", start + "X‖\u{0}: z\r\n\r\n", .fieldNameByte),
        Defect("obs-text in a name", start + "X‖\u{e4}: z\r\n\r\n", .fieldNameByte),
        Defect("another expectation", start + "Expect: 200-ok\r\n\r‖\n", .expectationFailed),
        Defect("another expectation in a list", start + "Expect: 100-continue, x\r\n\r‖\n", .expectationFailed),
        Defect(
            "another expectation in a second field", start + "Expect: 100-continue\r\nEXPECT: x\r\n\r‖\n",
            .expectationFailed),
    ]

    private static let controlBytes: [Defect] = (Array(0..<9) + [11, 12] + Array(14..<32) + [127]).map { byte in
        let control = String(UnicodeScalar(UInt8(byte)))
        return Defect("control byte \(byte) in a value", start + "X: y‖" + control + "\r\n\r\n", .controlByte)
    }

    private static let fieldDefects = fields + controlBytes

    private static let hosts: [Defect] = [
        Defect("no Host", "GET / HTTP/1.1\r\nX-Host: a\r\nHos: a\r\n\r‖\n", .hostMissing),
        Defect("no Host beside an absolute target", "GET http://a/ HTTP/1.1\r\n\r‖\n", .hostMissing),
        Defect("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r‖\n", .hostRepeated),
        Defect("two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r‖\n", .hostRepeated),
        Defect("a malformed Host in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a b\r\n\r‖\n", .hostMalformed),
        Defect(
            "a malformed Host beside an absolute target", "GET http://a/ HTTP/1.1\r\nHost: /\r\n\r‖\n",
            .hostMalformed),
    ]

    private static let hostDefects =
        hosts
        + malformedAuthorities.map {
            Defect("the Host \"\($0)\"", "GET / HTTP/1.1\r\nHost: \($0)\r\n\r‖\n", .hostMalformed)
        }

    static let malformedAuthorities = [
        "", ":80", "a b", "a/", "a?", "a#", "u@a", "http://a", "a:b", "a:80:80", "a:65536", "a:000080", "a:-1",
        "a%", "a%4", "a%zz", "\u{e4}", "[", "[]", "[:]", "[::1", "::1", "[::1]x", "[::1]:x", "[::1%25eth0]", "[v1.a]",
        "[1:2:3:4:5:6:7]", "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7::8]", "[1::2::3]", "[:::]", "[12345::]", "[g::]",
        "[1:]", "[:1]", "[::1.2.3]", "[::1.2.3.4.5]", "[::1.2.3.256]", "[::01.2.3.4]", "[::1.2.3.4:5]", "[::1.2.3.]",
        "[1.2.3.4]", "[1:2:3:4:5:6:7:1.2.3.4]", "a\\b", "a^b", "a|b", "[::1]]",
    ]

    private static func post(_ fields: String, version: Int = 1) -> String {
        "POST / HTTP/1.\(version)\r\nHost: a\r\n\(fields)\r\n\r‖\n"
    }

    private static let framingDefects: [Defect] = [
        Defect("two lengths", post("Content-Length: 1\r\nContent-Length: 2"), .contentLengthRepeated),
        Defect("two equal lengths", post("Content-Length: 1\r\ncontent-length: 1"), .contentLengthRepeated),
        Defect("a list of equal lengths", post("Content-Length: 1, 1"), .contentLengthMalformed),
        Defect("an empty length", post("Content-Length:"), .contentLengthMalformed),
        Defect("a negative length", post("Content-Length: -1"), .contentLengthMalformed),
        Defect("a length with a plus sign", post("Content-Length: +1"), .contentLengthMalformed),
        Defect("a hexadecimal length", post("Content-Length: 0x1"), .contentLengthMalformed),
        Defect("a length with a space", post("Content-Length: 1 1"), .contentLengthMalformed),
        Defect("a length with a fraction", post("Content-Length: 1.0"), .contentLengthMalformed),
        Defect("a length of 2^63", post("Content-Length: 9223372036854775808"), .contentLengthOverflow),
        Defect("a length of 2^64 and 1", post("Content-Length: 18446744073709551617"), .contentLengthOverflow),
        Defect(
            "a long length with a letter", post("Content-Length: 99999999999999999999x"), .contentLengthMalformed),
        Defect("a length over the limit", post("Content-Length: 65537"), .bodyTooLarge),
        Defect("the largest length", post("Content-Length: 9223372036854775807"), .bodyTooLarge),
        Defect(
            "a length and a coding", post("Content-Length: 1\r\nTransfer-Encoding: chunked"),
            .contentLengthWithTransferEncoding),
        Defect(
            "a coding and a length", post("Transfer-Encoding: x\r\nContent-Length: x"),
            .contentLengthWithTransferEncoding),
        Defect(
            "two codings in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            .transferEncodingRepeated),
        Defect("two codings", post("Transfer-Encoding: gzip, chunked"), .transferEncodingUnsupported),
        Defect("chunked twice", post("Transfer-Encoding: chunked, chunked"), .transferEncodingUnsupported),
        Defect("chunked with a parameter", post("Transfer-Encoding: chunked;a=b"), .transferEncodingUnsupported),
        Defect("chunked with an empty member", post("Transfer-Encoding: chunked,"), .transferEncodingUnsupported),
        Defect("chunked in quotation marks", post("Transfer-Encoding: \"chunked\""), .transferEncodingUnsupported),
        Defect("an empty coding", post("Transfer-Encoding:"), .transferEncodingUnsupported),
        Defect("the identity coding", post("Transfer-Encoding: identity"), .transferEncodingUnsupported),
        Defect("a longer coding", post("Transfer-Encoding: xchunked"), .transferEncodingUnsupported),
        Defect("a coding in HTTP/1.0", post("Transfer-Encoding: chunked", version: 0), .transferEncodingInHTTP10),
    ]

    private static let chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static let chunkDefects: [Defect] = [
        Defect("an empty chunk size", chunks + "‖\r\n", .chunkSizeMalformed),
        Defect("a chunk size of extensions alone", chunks + "‖;a\r\n", .chunkSizeMalformed),
        Defect("a negative chunk size", chunks + "‖-1\r\n", .chunkSizeMalformed),
        Defect("a chunk size with 0x", chunks + "0‖x1\r\n", .chunkSizeMalformed),
        Defect("a space before a chunk size", chunks + "‖ 1\r\n", .chunkSizeMalformed),
        Defect("a space behind a chunk size", chunks + "1 ‖\r\na", .chunkSizeMalformed),
        Defect("two chunk sizes", chunks + "1 ‖1\r\na", .chunkSizeMalformed),
        Defect("NUL in a chunk size", chunks + "1‖\u{0}\r\n", .chunkSizeMalformed),
        Defect("a bare LF in place of a chunk size", chunks + "‖\n", .bareLF),
        Defect("a bare LF behind a chunk size", chunks + "1‖\na", .bareLF),
        Defect("a bare LF behind a space", chunks + "1 ‖\na", .bareLF),
        Defect("a bare LF in an extension", chunks + "1;a‖\na", .bareLF),
        Defect("a bare CR behind a chunk size", chunks + "1\r‖a", .bareCR),
        Defect("a bare CR in an extension", chunks + "1;a\r‖a", .bareCR),
        Defect("NUL in an extension", chunks + "1;‖\u{0}\r\n", .controlByte),
        Defect("a chunk size of 2^63", chunks + "800000000000000‖0\r\n", .chunkSizeOverflow),
        Defect("a chunk size of 2^64", chunks + "1000000000000000‖0\r\n", .chunkSizeOverflow),
        Defect("a chunk over the limit", chunks + "10001‖\r\n", .bodyTooLarge),
        Defect("chunks over the limit", chunks + "1\r\na\r\n10000‖\r\n", .bodyTooLarge),
        Defect("a chunk over the limit with an extension", chunks + "10001‖;", .bodyTooLarge),
        Defect("chunk data that go on", chunks + "1\r\na‖b\r\n", .chunkEndMissing),
        Defect("chunk data without CR", chunks + "1\r\na‖\n0\r\n\r\n", .chunkEndMissing),
        Defect("chunk data without LF", chunks + "1\r\na\r‖0\r\n\r\n", .chunkEndMissing),
        Defect("chunk data that end early", chunks + "3\r\na\r\n‖0\r\n\r\n", .chunkEndMissing),
        Defect("a folded trailer", chunks + "0\r\n‖ x\r\n\r\n", .foldedLine),
        Defect("a trailer without colon", chunks + "0\r\nX‖\r\n\r\n", .colonMissing),
        Defect("a trailer with a bare LF", chunks + "0\r\nX: y‖\n\r\n", .bareLF),
        Defect("a trailer with NUL", chunks + "0\r\nX: y\r\nX: ‖\u{0}", .controlByte),
        Defect("a trailer with a space before its colon", chunks + "0\r\nX‖ : y", .spaceBeforeColon),
        Defect("the next request in place of the trailers", chunks + "0\r\nGET‖ / HTTP/1.1\r\n", .spaceBeforeColon),
        Defect("a bare CR behind the trailers", chunks + "0\r\n\r‖GET / HTTP/1.1\r\n", .bareCR),
    ]
}

extension String {
    /// The string with `‖` before its last byte.
    fileprivate var marked: String { String(unicodeScalars.dropLast()) + "‖" + String(unicodeScalars.suffix(1)) }
}
