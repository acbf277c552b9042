import EdgeTestKit
import Testing

extension EdgeTests {
    /// Known techniques of request smuggling: each has one meaning here, or is refused and nothing after it is served.
    @Suite struct OddRequestTests {
        private static let probe = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

        /// The request, and the statuses of all answers: 200 at the end is the answer to the probe after it.
        private static let conversations: [(request: String, statuses: [Int])] =
            lengths + codings + chunks + targets + hosts + versions + fields + methods + upgrades

        private static func post(_ fields: String, _ body: String = "hello") -> String {
            "POST /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\(body)"
        }

        private static func get(_ fields: String, _ target: String = "/health", _ method: String = "GET") -> String {
            "\(method) \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
        }

        private static let lengths =
            [
                "+5", "-5", "-0", "5, 5", "5,5", "5,", ",5", "0x5", "5 5", "5\u{b}", "5.0", "5e0", "5;", "\"5\"", "٥",
                "",
                "18446744073709551621", "9223372036854775808", "5\r\n ", "5\r\nContent-Length: 5",
                "5\r\ncontent-length: 6",
                "5\r\nTransfer-Encoding: chunked", "5\r\nTransfer-Encoding: identity", "5\r\nTransfer-Encoding:",
            ].map { (post("Content-Length: \($0)\r\n"), [400]) }
            + [
                (post("Content-Length: 5\r\n"), [404, 200]), (post("Content-Length: \t5 \r\n"), [404, 200]),
                (post("content-LENGTH:00000005\r\n"), [404, 200]), (post("Content-Length: 70000\r\n"), [413]),
                (post("Content_Length: 5\r\nContent-Length: 5\r\n"), [404, 200]), (post(""), [411]),
                (post("Content-Length : 5\r\n"), [400]), (post("Content-Length\r\n: 5\r\n"), [400]),
            ]

        private static let codings =
            [
                "identity", "chunked, identity", "identity, chunked", "chunked, chunked", "gzip, chunked", "xchunked",
                "chunke", "\"chunked\"", "chunked;q=1", "x", "chunked, x",
            ].map { (post("Transfer-Encoding: \($0)\r\n", "0\r\n\r\n" + smuggled), [501]) }
            + [
                (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
                (post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
                (post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), [400]),
                (post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), [400]),
                (post("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n"), [400]),
                (post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), [400]),
                (post("X: y\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
                (post("X: y\rTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
                (post("X: y\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), [400]),
                (post("tRANSFER-eNCODING: \t CHUNKED \r\n", "0\r\n\r\n"), [404, 200]),
                ("POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", [400]),
            ]

        private static let chunks =
            [
                "5 \r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
                " 5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
                "5\r\nhello\r0\r\n\r\n", "5;\nx\r\nhello\r\n0\r\n\r\n", "5;a=\u{0}\r\nhello\r\n0\r\n\r\n", "\r\n",
                "-1\r\n",
                "FFFFFFFFFFFFFFFFF\r\n", "5;\(String(repeating: "x", count: 300))\r\nhello\r\n0\r\n\r\n",
                "0\r\n X: folded\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\nX\r\n\r\n", "0\r\nX: y\n\r\n",
            ].map { (post("Transfer-Encoding: chunked\r\n", $0), [400]) }
            + [
                "5\r\nhello\r\n0\r\n\r\n", "05\r\nhello\r\n000\r\n\r\n", "5;a;b=c;d=\"e;f\"\r\nhello\r\n0;x\r\n\r\n",
                "0\r\nContent-Length: 99\r\nTransfer-Encoding: x\r\nHost: b\r\n\r\n", "a\r\nGET / HTTP\r\n0\r\n\r\n",
            ].map { (post("Transfer-Encoding: chunked\r\n", $0), [404, 200]) }
            + [(post("Transfer-Encoding: chunked\r\n", "11170\r\n"), [413])]

        private static let targets: [(request: String, statuses: [Int])] = [
            (get("", "http://b.example/health"), [200, 200]), (get("", "HTTPS://b.example:6200/health?x"), [200, 200]),
            (get("", "http://u@b.example/health"), [400]), (get("", "http:///health"), [400]),
            (get("", "ftp://b.example/health"), [400]), (get("", "health"), [400]), (get("", "*"), [400]),
            (get("", "//health"), [200, 200]), (get("", "/health/"), [200, 200]), (get("", "/./health"), [404, 200]),
            (get("", "/x/../health"), [404, 200]), (get("", "/%68ealth"), [404, 200]),
            (get("", "/health%00"), [404, 200]),
            (get("", "/health;x"), [404, 200]), (get("", "/HEALTH"), [404, 200]),
            (get("", "/health?[a]={b}|\\^`%"), [200, 200]),
            (get("", "/health?a\"b"), [400]), (get("", "/health?a#b"), [400]), (get("", "/health?<a>"), [400]),
            (get("", "/health\u{e9}"), [400]), (get("", "/health HTTP/1.1"), [400]), (get("", "/a\tb"), [400]),
            ("GET  /health HTTP/1.1\r\nHost: a\r\n\r\n", [400]), ("GET /health  HTTP/1.1\r\nHost: a\r\n\r\n", [400]),
            (" GET /health HTTP/1.1\r\nHost: a\r\n\r\n", [400]),
            ("\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n", [200, 200]),
            ("\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n", [400]), (get("", "b.example:443", "CONNECT"), [404]),
        ]

        private static let hosts =
            ["", "a b", "a/b", "a@b", "a:b", "a:1:2", "a:99999", "[::1", "a\u{0}", "a\\b"]
            .map { ("GET /health HTTP/1.1\r\nHost: \($0)\r\n\r\n", [400]) } + [
                (get("Host: a\r\n"), [400]), (get("hOST: b\r\n"), [400]), (get("Host : b\r\n"), [400]),
                ("GET /health HTTP/1.1\r\n\r\n", [400]), ("GET http://a/health HTTP/1.1\r\n\r\n", [400]),
                // A comma is part of a name (RFC 3986 §3.2.2), and doesn't separate two.
                ("GET /health HTTP/1.1\r\nHost: a,b\r\n\r\n", [200, 200]),
                ("GET /health HTTP/1.1\r\nHost: [::1]:6200\r\n\r\n", [200, 200]),
            ]

        private static let versions: [(request: String, statuses: [Int])] = [
            ("GET /health HTTP/1.0\r\n\r\n", [200]),
            ("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", [200, 200]),
            ("GET /health HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", [200]), ("GET /health\r\n", [400]),
            ("GET /health HTTP/1.2\r\nHost: a\r\n\r\n", [505]), ("GET /health HTTP/2.0\r\nHost: a\r\n\r\n", [505]),
            ("GET /health HTTP/0.9\r\nHost: a\r\n\r\n", [505]), ("GET /health http/1.1\r\nHost: a\r\n\r\n", [400]),
            ("GET /health HTTP/1.10\r\nHost: a\r\n\r\n", [400]), ("GET /health HTTP/01.1\r\nHost: a\r\n\r\n", [400]),
            ("GET /health HTTP/1.1 \r\nHost: a\r\n\r\n", [400]),
        ]

        private static let fields: [(request: String, statuses: [Int])] = [
            (get("X: a\u{0}b\r\n"), [400]), (get("X: a\u{7f}b\r\n"), [400]), (get("X\u{0}: a\r\n"), [400]),
            (get(": a\r\n"), [400]), (get("X\r\n"), [400]), (get("X y: a\r\n"), [400]), (get("X(: a\r\n"), [400]),
            (get("X:\r\n"), [200, 200]), (get("X: \u{e9}\t\u{80}\r\n"), [200, 200]), (get("X: a\r\n\tb\r\n"), [400]),
            (get("X: \(String(repeating: "x", count: 16_384))\r\n"), [431]),
            (get((0..<100).map { "X\($0): y\r\n" }.joined()), [431]),
            (get((0..<99).map { "X\($0): y\r\n" }.joined()), [200, 200]),
            (get("Connection: close\r\n"), [200]), (get("Connection: x, Close\r\n"), [200]),
            (get("Connection: keep-alive\r\nConnection: close\r\n"), [200]),
            (get("Connection: x-close\r\n"), [200, 200]),
            (get("Expect: 100-continue\r\n"), [200, 200]), (get("Expect: 200-ok\r\n"), [417]),
            (get("Expect: 100-continue, x\r\n"), [417]),
            (post("Expect: 100-Continue\r\nContent-Length: 5\r\n"), [100, 404, 200]),
            (
                "POST /ticket HTTP/1.1\r\nHost: a\r\nAuthorization: a\r\nAuthorization: a\r\nContent-Length: 0\r\n\r\n",
                [400, 200]
            ),
            (
                "POST /ticket HTTP/1.1\r\nHost: a\r\nX-App-Assert-Nonce: a\r\nx-app-assert-nonce: b\r\nContent-Length: 0\r\n\r\n",
                [400, 200]
            ),
        ]

        private static let methods: [(request: String, statuses: [Int])] = [
            (get("", "/health", "get"), [501, 200]), (get("", "/health", "GETX"), [501, 200]),
            (get("", "/health", "TRACE"), [405, 200]), (get("Content-Length: 0\r\n", "/health", "PUT"), [405, 200]),
            (get("", "/health", String(repeating: "G", count: 33)), [501]), (get("", "/health", "GE\u{0}T"), [400]),
            (get("", "/attest/challenge", "HEAD"), [200, 200]),
            (get("", "*", "OPTIONS"), [204, 200]), (get("", "/health", "OPTIONS"), [204, 200]),
            (get("Content-Length: 5\r\n", "/health", "OPTIONS") + "hello", [204, 200]),
            (get("Content-Length: 5\r\n", "/health", "HEAD") + "hello", [200, 200]),
            (get("Transfer-Encoding: chunked\r\n", "/health", "HEAD") + "0\r\n\r\n", [200, 200]),
        ]

        private static let upgrade =
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"

        private static let upgrades: [(request: String, statuses: [Int])] = [
            (get("Connection: Upgrade\r\nContent-Length: 5\r\n" + upgrade, "/") + "hello", [400]),
            (get("Connection: Upgrade\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n" + upgrade, "/"), [400]),
            (get("Connection: Upgrade\r\nTransfer-Encoding: chunked\r\n" + upgrade, "/") + "0\r\n\r\n", [400]),
            (get("Connection: x\r\n" + upgrade, "/"), [400]), (get(upgrade, "/"), [400]),
            (get("Connection: Upgrade\r\n" + upgrade, "/", "HEAD"), [400]),
            (get("Connection: Upgrade\r\n" + upgrade, "/", "get"), [400]),
            (get("Connection: Upgrade\r\nUpgrade: h2c\r\n" + upgrade, "/"), [101]),
            (get("Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"), [200, 200]),
            (get("Connection: Upgrade\r\nAuthorization: a\r\nAuthorization: a\r\n" + upgrade, "/"), [400]),
            (get("Connection: Upgrade\r\nSec-WebSocket-Key: BBBBBBBBBBBBBBBBBBBBBB==\r\n" + upgrade, "/"), [400]),
            (get("Connection: close, upgrade\r\n" + upgrade, "/"), [101]),
            (get("Connection: keep-alive\r\nConnection: UPGRADE\r\n" + upgrade, "/"), [101]),
        ]

        /// All are sent to one gateway, which survives each of them.
        @Test func `each unusual request has exactly one meaning or is refused`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false").setting(
                    "FAILED_UPGRADES_PER_MINUTE", 1_000_000)
            }
            let found = try await inParallel(Self.conversations.count) { index in
                try await statuses(of: Self.conversations[index].request + Self.probe, at: edge)
            }
            for ((request, expected), statuses) in zip(Self.conversations, found) {
                #expect(statuses == expected, "\(request.prefix(300).debugDescription)")
            }
            try await edge.expectHealthy()
        }

        private func statuses(of requests: String, at edge: Edge) async throws -> [Int] {
            let connection = try await edge.gateway.connect()
            connection.post(
                requests.unicodeScalars.flatMap { $0.value < 256 ? [UInt8($0.value)] : Array(String($0).utf8) })
            let isOver: @Sendable (String) -> Bool = { $0.hasPrefix("HTTP/1.1 101 ") }
            let text = try await connection.stream.wait(for: "the end of the stream", within: .seconds(30)) { stream in
                let text = String(decoding: stream.unread, as: UTF8.self)
                return stream.isAtEnd || isOver(text) ? text : nil
            }
            return text.matches(of: #/HTTP/1\.1 ([0-9]{3}) /#).compactMap { Int($0.output.1) }
        }
    }
}
