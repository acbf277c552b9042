import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// Apple attests a key once. So a registration that has failed for a passing reason is repeated as it was.
@Suite("Registrations that are repeated", .timeLimit(.minutes(5)))
struct HeldRegistrationTests {
    enum Dialect: CaseIterable, Sendable { case assertions, tokens, signedRequests }

    private let apple: SimulatedApple
    private let clock = ManualClock()
    private let script = AnswerScript()
    /// A gate of all dialects that knows no cryptography.
    private let server: StandIn

    init() async throws {
        apple = try SimulatedApple()
        let (script, challenges) = (script, Awaited(0))
        server = try await StandIn { request in
            if let scripted = script.next(for: request) { return scripted }
            let number = challenges.next()
            switch "\(request.method) \(request.path)" {
            case "GET /attest/challenge": return .json(AssertionGate.challenge(number))
            case "POST /attest/challenge": return .json(#"{"exp":1800000060,"nonce":"\#(Self.challenge(number))"}"#)
            case "POST /challenge":
                return .json(#"{"challenge":"\#(Self.challenge(number))","expires_at":"2027-01-15T08:01:00Z"}"#)
            case "POST /attest/register": return .json(#"{"key_id":"k","registered":true}"#)
            case "POST /token": return .json(#"{"access_token":"token","expires_in":300}"#)
            case "GET /": return .webSocket { try await $0.idle() }
            default: return .json("{}")
            }
        }
    }

    private static func challenge(_ number: Int) -> String {
        Data([UInt8](repeating: 0, count: 31) + [UInt8(number)]).base64EncodedString()
    }

    private func answer(_ path: String, _ answers: StandIn.Answer...) { script.add(path, answers) }

    private func bench() throws -> Bench {
        try Bench(
            server.url, apple: apple, attest: SimulatedAppAttest(apple, attestsOnce: true), clock: clock)
    }

    private static func path(_ dialect: Dialect) -> String {
        dialect == .signedRequests ? "/register" : "/attest/register"
    }

    /// Registers, and uses the key where the dialect has a request for that.
    private func use(_ dialect: Dialect, _ client: GateClient) async throws {
        switch dialect {
        case .assertions: try await client.assertions.registerIfNeeded()
        case .tokens: _ = try await client.tokens.authorizationHeaders(for: "x", method: .get)
        case .signedRequests: _ = try await client.signedRequests.perform(path: "x", method: .get)
        }
    }

    private var registrations: [StandIn.Request] { server.requests.filter { $0.path.hasSuffix("/register") } }

    /// Challenge, key and attestation of a registration.
    private static func evidence(_ request: StandIn.Request) -> [String?] {
        let nested = request.member("attestation") as? [String: Any]
        return [
            request["X-AppAttest-Challenge"] ?? (request.member("nonce") as? String),
            request["X-AppAttest-KeyId"] ?? (request.member("keyId") as? String) ?? (nested?["key_id"] as? String),
            request["X-AppAttest-Attestation"] ?? (request.member("attestation") as? String)
                ?? (nested?["attestation"] as? String),
        ]
    }

    private func kept(_ bench: Bench) throws -> Data? {
        try bench.secrets.read(StoredName.of("app-attest-key", bench.client.configuration))
    }

    private static func count(_ call: SimulatedAppAttest.Call, _ bench: Bench) -> Int {
        bench.attest.calls.count { $0 == call }
    }

    /// As each dialect says that a challenge was used.
    private static func used(_ dialect: Dialect) -> StandIn.Answer {
        switch dialect {
        case .assertions: .reply(400, body: #"{"error":"Invalid or expired nonce","code":"invalid_nonce"}"#)
        case .tokens: TokenGate.refusal(400, "nonce_expired")
        case .signedRequests: .reply(401, body: "invalid or expired challenge")
        }
    }

    // MARK: Passing failures

    @Test(arguments: Dialect.allCases, [429, 503])
    func `a gate that was busy gets the same attestation again`(dialect: Dialect, status: Int) async throws {
        answer(Self.path(dialect), .reply(status, headers: ["Retry-After": "3"]))
        let bench = try bench()
        let task = Task { try await use(dialect, bench.client) }
        try await clock.pass(3...3)
        try await task.value
        #expect(Self.count(.generateKey, bench) == 1 && Self.count(.attestKey, bench) == 1)
        try #require(registrations.count == 2)
        #expect(Self.evidence(registrations[0]) == Self.evidence(registrations[1]))
        #expect(Self.evidence(registrations[0]).allSatisfy { $0 != nil })
        #expect(try kept(bench) != nil)
    }

    @Test(arguments: Dialect.allCases)
    func `a lost answer is asked for again`(dialect: Dialect) async throws {
        answer(Self.path(dialect), .hangUp)
        let bench = try bench()
        let task = Task { try await use(dialect, bench.client) }
        try await clock.pass(0.5...1)
        try await task.value
        #expect(Self.count(.generateKey, bench) == 1 && Self.count(.attestKey, bench) == 1)
        #expect(Set(registrations.map(Self.evidence)).count == 1 && registrations.count == 2)
    }

    @Test(arguments: Dialect.allCases)
    func `after a failure of Apple's servers the same hash is attested`(dialect: Dialect) async throws {
        let bench = try bench()
        bench.attest.fail(.attestKey, .failure(.serverUnavailable))
        let task = Task { try await use(dialect, bench.client) }
        try await clock.pass(0.5...1)
        try await task.value
        #expect(bench.attest.hashes.count == 2 && Set(bench.attest.hashes).count == 1)
        #expect(Self.count(.generateKey, bench) == 1)
        #expect(server.lines.prefix { !$0.hasSuffix("/register") }.count == 1)
    }

    @Test func `a registration goes on in the dialect that has begun it`() async throws {
        answer("/register", .reply(503, headers: ["Retry-After": "20"]))
        let bench = try bench()
        await #expect(throws: GateError.self) { try await bench.client.signedRequests.registerIfNeeded() }
        clock.advance(20)
        try await bench.client.assertions.registerIfNeeded()
        #expect(server.lines == ["POST /challenge", "POST /register", "POST /register"])
        #expect(Self.count(.attestKey, bench) == 1)
    }

    // MARK: Lost answers

    @Test(arguments: Dialect.allCases)
    func `a key whose registration may have arrived is tried, and kept once it was accepted`(dialect: Dialect)
        async throws
    {
        answer(Self.path(dialect), .hangUp, Self.used(dialect))
        let bench = try bench()
        let task = Task { try await use(dialect, bench.client) }
        try await clock.pass(0.5...1)
        try await task.value
        if dialect == .assertions {
            _ = try await bench.client.assertions.assertionHeaders()
            #expect(try kept(bench) == nil)
            try await Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw))).connected()
        }
        #expect(Self.count(.generateKey, bench) == 1 && Self.count(.attestKey, bench) == 1)
        #expect(try kept(bench).map { String(decoding: $0, as: UTF8.self) } == Self.evidence(registrations[0])[1])
    }

    @Test func `one that didn't arrive is replaced when the gate says so`() async throws {
        answer("/attest/register", .hangUp, Self.used(.assertions))
        answer("/", .reply(401, headers: ["X-Refusal-Code": "unknown_key"]))
        let bench = try bench()
        let task = Task { try await bench.client.assertions.registerIfNeeded() }
        try await clock.pass(0.5...1)
        try await task.value
        try await Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw))).connected()
        #expect(Self.count(.generateKey, bench) == 2 && registrations.count == 3)
        #expect(try kept(bench).map { String(decoding: $0, as: UTF8.self) } == Self.evidence(registrations[2])[1])
    }

    /// Its store may have the key.
    @Test func `after a busy gate has used up the challenge the key is tried before another is made`() async throws {
        answer("/attest/register", .reply(503, headers: ["Retry-After": "3"]), Self.used(.assertions))
        answer("/", .reply(401, headers: ["X-Refusal-Code": "unknown_key"]))
        let bench = try bench()
        let task = Task { try await bench.client.assertions.registerIfNeeded() }
        try await clock.pass(3...3)
        try await task.value
        #expect(Self.count(.generateKey, bench) == 1 && registrations.count == 2)
        try await Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw))).connected()
        #expect(Self.count(.generateKey, bench) == 2 && registrations.count == 3)
        #expect(Self.evidence(registrations[2])[1] != Self.evidence(registrations[0])[1])
    }

    /// Apple attests a key once, and the gate may have it already.
    @Test func `what nobody waits for any more is finished, and found by who comes next`() async throws {
        answer("/attest/register", .silence)
        let bench = try bench()
        let first = Task { try await bench.client.assertions.registerIfNeeded() }
        _ = try await server.request(1)
        first.cancel()
        await #expect(throws: GateError.cancelled) { try await first.value }
        let second = Task { try await bench.client.assertions.registerIfNeeded() }
        try await clock.pass(20...20)
        try await clock.pass(0.5...1)
        try await second.value
        #expect(Self.count(.generateKey, bench) == 1 && Self.count(.attestKey, bench) == 1)
        #expect(registrations.count == 2 && Set(registrations.map(Self.evidence)).count == 1)
    }

    // MARK: What is left of a registration

    @Test(
        arguments: [
            (GateError.refused(Refusal(status: 503)), true), (.refused(Refusal(status: 429)), false),
            (.refused(Refusal(status: 504)), true), (.timedOut(.request), true), (.network(.connectionLost), true),
            (.cancelled, true), (.timedOut(.generateAssertion), false), (.network(.unreachable), false),
            (.refused(Refusal(status: 403)), nil),
            (.refused(Refusal(status: 400, code: "invalid_nonce")), nil), (.malformedAnswer(.notJSON), nil),
        ] as [(GateError, Bool?)])
    func `only a lost answer leaves open whether the key is registered`(error: GateError, isOpen: Bool?) {
        let dialect = KeyRegistration {
            throw GateError.notConnected
        } send: { _, _, _ in
        }
        var held = HeldRegistration("key", HeldChallenge("c", bytes: [1], received: 0), [2], dialect)
        // Nothing was sent yet.
        #expect(held.left(after: error).map(\.mayBeRegistered) == isOpen.map { _ in false })
        held.attestation = [3]
        #expect(held.left(after: error).map(\.mayBeRegistered) == isOpen)
    }
}
