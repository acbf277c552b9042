import EdgeTestKit
import Testing

extension EdgeTests {
    /// Where one request ends and the next begins must never be a matter of opinion.
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
            BadFraming("chunked", "POST", "Transfer-Encoding: chunked\r\n", body: "2\r\n{}\r\n0\r\n\r\n"),
            BadFraming("identity", "POST", "Transfer-Encoding: identity\r\nContent-Length: 2\r\n", body: "{}"),
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
            BadFraming("a body on GET", "GET", "Content-Length: 2\r\n", body: "{}"),
            BadFraming("a chunked GET", "GET", "Transfer-Encoding: chunked\r\n", body: "0\r\n\r\n"),
        ]

        /// The request behind must not be served: the answer is the last thing on the connection.
        @Test(arguments: badFramings)
        func itIsRefusedAndNothingBehindItIsServed(framing: BadFraming) async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let connection = try await edge.gateway.connect()
            try await connection.send(framing.request + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let answer = try await connection.lastAnswer()
            #expect(answer.status == framing.status, "\(answer)")
            try await edge.expectHealthy()
        }
    }
}
