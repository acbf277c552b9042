import EdgeTestKit
import Foundation
import NIOSSL
import Testing

@testable import PortcullisClient
@testable import PortcullisClientNIO

/// A server that does everything that an honest one doesn't. Each answer leads to a clear error, in bounded time,
/// memory and number of requests.
@Suite("A hostile server", .timeLimit(.minutes(10)))
struct HostileServerTests {
    private let apple: SimulatedApple

    init() throws { apple = try SimulatedApple() }

    /// A client with a development token: its first request is `POST /token`.
    private func bench(_ server: StandIn, _ change: (inout GateConfiguration) -> Void = { _ in }) throws -> Bench {
        try Bench(server.url, apple: apple, developmentToken: "dev", change)
    }

    private func error(_ answer: StandIn.Answer, _ change: (inout GateConfiguration) -> Void = { _ in }) async throws
        -> GateError
    {
        let server = try await StandIn { _ in answer }
        let bench = try bench(server, change)
        do {
            _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
            throw EdgeTestError("a token")
        } catch let error as GateError {
            #expect(server.requests.count <= 3)
            return error
        }
    }

    private static let token = #"{"access_token":"t","expires_in":300}"#

    // MARK: Answers

    @Test func `an endless body is read up to its limit`() async throws {
        let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let chunk = Array("4000\r\n".utf8) + [UInt8](repeating: 0x20, count: 0x4000) + Array("\r\n".utf8)
        #expect(try await error(.endless(head, chunk: chunk)) == .malformedAnswer(.bodyTooLarge))
        let long = Array("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".utf8)
        #expect(try await error(.endless(long, chunk: chunk)) == .malformedAnswer(.bodyTooLarge))
    }

    @Test func `a body at the limit is read, and one byte more isn't`() async throws {
        let size = ClientLimits.gateBodyBytes
        let padded = Self.token + String(repeating: " ", count: size - Self.token.utf8.count)
        let server = try await StandIn { _ in .json(padded) }
        _ = try await bench(server).client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(try await error(.json(padded + " ")) == .malformedAnswer(.bodyTooLarge))
    }

    @Test func `endless header fields, and one of a megabyte, are refused`() async throws {
        let line = Array("X-Field: \(String(repeating: "a", count: 1_000))\r\n".utf8)
        #expect(
            try await error(.endless(Array("HTTP/1.1 200 OK\r\n".utf8), chunk: line))
                == .malformedAnswer(.header("too long")))
        let big = StandIn.Answer.json(Self.token, headers: ["X-Big": String(repeating: "a", count: 1 << 20)])
        #expect(try await error(big) == .malformedAnswer(.header("too long")))
    }

    @Test(arguments: [
        "", "x", "null", "[]", "<html>", "{}", #"{"access_token":7,"expires_in":300}"#, #"{"access_token":"t"}"#,
        #"{"access_token":"t","expires_in":"300"}"#, #"{"access_token":"t","expires_in":1.5}"#,
        #"{"access_token":"t","expires_in":-1}"#, #"{"access_token":"","expires_in":300}"#,
        #"{"access_token":"a b","expires_in":300}"#, #"{"access_token":"a\r\nX: y","expires_in":300}"#,
        #"{"access_token":null,"expires_in":300}"#, #"{"access_token":["t"],"expires_in":300}"#,
    ])
    func `a 200 with garbage is no token`(body: String) async throws {
        guard case .malformedAnswer = try await error(.json(body)) else {
            Issue.record("no malformed answer")
            return
        }
    }

    @Test func `a token of 8 KiB is accepted, and one byte more isn't`() async throws {
        @Sendable func body(_ count: Int) -> String {
            #"{"access_token":"\#(String(repeating: "t", count: count))","expires_in":300}"#
        }
        let server = try await StandIn { _ in .json(body(TokenIssuer.maximumTokenBytes)) }
        _ = try await bench(server).client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(
            try await error(.json(body(TokenIssuer.maximumTokenBytes + 1))) == .malformedAnswer(.member("access_token"))
        )
    }

    @Test func `JSON nested 10,000 deep is refused without recursion`() async throws {
        let deep =
            #"{"access_token":"# + String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000) + "}"
        #expect(try await error(.json(deep)) == .malformedAnswer(.tooDeep))
    }

    @Test(arguments: [301, 302, 303, 307, 308, 300])
    func `a redirection isn't followed`(status: Int) async throws {
        let other = try await StandIn { _ in .json(Self.token) }
        let location = ["Location": other.url + "/token"]
        #expect(try await error(.reply(status, headers: location)) == .redirected(status: status))
        #expect(other.requests.isEmpty)
    }

    @Test func `a redirected upgrade or service request isn't followed either`() async throws {
        let other = try await StandIn { _ in .json(Self.token) }
        let url = other.url
        let server = try await StandIn { request in
            request.path == "/token" ? .json(Self.token) : .reply(302, headers: ["Location": url])
        }
        let client = try bench(server).client
        await #expect(throws: GateError.redirected(status: 302)) {
            try await client.tokens.performRequest(path: "x", method: .get)
        }
        let end = try await Player(client.connect()).end()
        #expect(end.error == .redirected(status: 302))
        #expect(other.requests.isEmpty)
    }

    @Test(arguments: [100, 204, 206, 299, 999])
    func `another status is no success`(status: Int) async throws {
        let answer = try await error(
            .raw(
                Array(
                    "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n".utf8)
            ))
        #expect(answer != .cancelled)
    }

    @Test(arguments: [
        "", "garbage\r\n\r\n", "HTTP/1.1 200", "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ])
    func `what isn't HTTP is an error`(text: String) async throws {
        let answer = try await error(text.isEmpty ? .hangUp : .raw(Array(text.utf8))) { $0.limits.gateRequest = 0.3 }
        #expect(answer.retry != .now)
    }

    @Test func `a server that is killed is lost, and not one that can't prove itself`() {
        #expect(TransportFailure.named(NIOSSLError.uncleanShutdown) as? NetworkProblem == .connectionLost)
        #expect(TransportFailure.named(NIOSSLError.noCertificateToValidate) as? NetworkProblem == .tls)
    }

    @Test func `a server that never answers is given up in time`() async throws {
        let server = try await StandIn { _ in .silence }
        let clock = ManualClock()
        let bench = try Bench(server.url, apple: apple, clock: clock, developmentToken: "dev")
        let task = Task { try await bench.client.tokens.authorizationHeaders(for: "x", method: .get) }
        for attempt in 1...3 {
            _ = try await server.request(attempt - 1)
            try await clock.pass(20...20)
            if attempt < 3 { try await clock.pass(0...4) }
        }
        await #expect(throws: GateError.timedOut(.request)) { try await task.value }
        #expect(server.requests.count == 3)
    }

    // MARK: Nonces, clocks and refusals

    @Test func `a nonce of a megabyte, or one that could end a line, isn't used`() async throws {
        for nonce in [String(repeating: "n", count: 15_000), "a b", "é"] {
            let server = try await StandIn { _ in
                TokenGate.refusal(401, "use_dpop_nonce", headers: ["DPoP-Nonce": nonce])
            }
            await #expect(throws: GateError.self) {
                try await bench(server).client.tokens.authorizationHeaders(for: "x", method: .get)
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "yesterday", ""])
    func `a clock of another time breaks nothing`(date: String) async throws {
        let server = try await StandIn { request in
            switch request.path {
            case "/attest/challenge": .json(TokenGate.challenge, headers: ["Date": date])
            case "/attest/register": .json(#"{"key_id":"k","registered":true}"#, headers: ["Date": date])
            default: .json(Self.token, headers: ["Date": date])
            }
        }
        let bench = try Bench(server.url, apple: apple)
        _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
        #expect(server.lines == ["POST /attest/challenge", "POST /attest/register", "POST /token"])
    }

    @Test(arguments: [401, 403, 428, 429, 500, 503])
    func `a gate that refuses forever hears a bounded number of requests`(status: Int) async throws {
        let server = try await StandIn { _ in
            .reply(status, headers: ["Retry-After": "0"], body: #"{"error":"key mismatch","code":"x"}"#)
        }
        let clock = ManualClock()
        let bench = try Bench(server.url, apple: apple, clock: clock)
        for _ in 0..<40 {
            let task = Task { try? await bench.client.tokens.authorizationHeaders(for: "x", method: .get) }
            let other = Task { try? await bench.client.signedRequests.perform(path: "x", method: .get) }
            let pusher = Task {
                while !Task.isCancelled { clock.sleeps.isEmpty ? await Task.yield() : clock.advance(0.2) }
            }
            _ = await (task.value, other.value)
            pusher.cancel()
        }
        // Two operations in some minutes.
        #expect(server.requests.count <= 60, "\(server.requests.count)")
        #expect(bench.attest.calls.count { $0 == .generateKey } <= 8)
    }

    @Test(arguments: [
        #"{"nonce":7}"#, "{}", #"{"nonce":""}"#, #"{"nonce":"***"}"#, #"{"nonce":"AAAA"}"#,
        #"{"nonce":"\#(String(repeating: "A", count: 60_000))"}"#,
    ])
    func `a challenge that is none is an error in every dialect`(body: String) async throws {
        let server = try await StandIn { _ in .json(body) }
        let client = try Bench(server.url, apple: apple).client
        await #expect(throws: GateError.malformedAnswer(.member("nonce"))) {
            try await client.assertions.registerIfNeeded()
        }
        await #expect(throws: GateError.malformedAnswer(.member("nonce"))) {
            try await client.tokens.authorizationHeaders(for: "x", method: .get)
        }
        await #expect(throws: GateError.malformedAnswer(.member("challenge"))) {
            try await client.signedRequests.registerIfNeeded()
        }
    }

    // MARK: Services

    @Test func `a service's body is read up to the configured limit`() async throws {
        let server = try await StandIn { request in
            request.path == "/token" ? .json(Self.token) : .json(String(repeating: "x", count: 1_000))
        }
        let small = try bench(server) { $0.limits.serviceBodyBytes = 999 }
        await #expect(throws: GateError.malformedAnswer(.bodyTooLarge)) {
            try await small.client.tokens.performRequest(path: "x", method: .get)
        }
        let enough = try bench(server) { $0.limits.serviceBodyBytes = 1_000 }
        #expect(try await enough.client.tokens.performRequest(path: "x", method: .get).body.count == 1_000)
    }
}
