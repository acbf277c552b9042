import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// A gate of the first dialect that knows no cryptography: these tests are about what the client asks, and how often.
struct AssertionGate: Sendable {
    let server: StandIn
    private let state: Awaited<State>

    private struct State: Sendable {
        var refusals: [String: [StandIn.Answer]] = [:]
        var challenges = 0
    }

    /// - Parameter date: of every answer.
    init(date: String? = nil) async throws {
        let state = Awaited(State())
        self.state = state
        server = try await StandIn { request in
            let scripted = state.update { state -> StandIn.Answer? in
                guard state.refusals[request.path]?.isEmpty == false else { return nil }
                return state.refusals[request.path]?.removeFirst()
            }
            if let scripted { return scripted }
            switch request.path {
            case "/attest/challenge":
                let number = state.update { state -> Int in
                    state.challenges += 1
                    return state.challenges
                }
                return .json(Self.challenge(number), headers: date.map { ["Date": $0] } ?? [:])
            case "/attest/register": return .json(#"{"registered":true}"#)
            case "/": return .webSocket { try await $0.idle() }
            default: return .reply(404)
            }
        }
    }

    static func challenge(_ number: Int, expires: String = #""1800000060000""#) -> String {
        #"{"expires":\#(expires),"nonce":"\#(nonce(number))"}"#
    }

    static func nonce(_ number: Int) -> String { String(repeating: "0", count: 56) + String(format: "%08x", number) }

    /// The next answers on this path.
    func answer(_ path: String, _ answers: StandIn.Answer...) {
        state.update { $0.refusals[path, default: []] += answers }
    }

    func refuse(_ path: String, _ status: Int, _ code: String, headers: [String: String] = [:]) {
        let fields = ["X-Refusal-Code": code].merging(headers) { $1 }
        answer(path, .reply(status, headers: fields, body: #"{"error":"no","code":"\#(code)","requestId":"r1"}"#))
    }
}

@Suite("The first dialect: assertions", .timeLimit(.minutes(5)))
struct AssertionTests {
    private let gate: AssertionGate
    private let apple: SimulatedApple
    private let clock = ManualClock()

    init() async throws {
        gate = try await AssertionGate(date: "Fri, 15 Jan 2027 08:00:00 GMT")
        apple = try SimulatedApple()
    }

    private func bench(_ secrets: MemorySecretStore = .init(), attest: SimulatedAppAttest? = nil) throws -> Bench {
        try Bench(gate.server.url, apple: apple, attest: attest, secrets: secrets, clock: clock)
    }

    private static let registration = ["GET /attest/challenge", "POST /attest/register"]

    @Test func `the first launch registers, and later ones don't`() async throws {
        let bench = try bench()
        try await bench.client.assertions.registerIfNeeded()
        try await bench.client.assertions.registerIfNeeded()
        #expect(gate.server.lines == Self.registration)
        let body = gate.server.requests[1]
        #expect(body.member("nonce") as? String == AssertionGate.nonce(1))
        #expect(body["Content-Type"] == "application/json")
        let next = try self.bench(bench.secrets)
        try await next.client.assertions.registerIfNeeded()
        #expect(gate.server.lines == Self.registration)
        #expect(await next.client.assertions.isRegistered)
    }

    @Test func `the key identifier is kept after the 200 and not before`() async throws {
        gate.answer("/attest/register", .reply(201, body: #"{"registered":true}"#))
        let bench = try bench()
        await #expect(throws: GateError.self) { try await bench.client.assertions.registerIfNeeded() }
        #expect(await bench.client.assertions.isRegistered == false)
        let next = try self.bench(bench.secrets)
        #expect(await next.client.assertions.isRegistered == false)
    }

    @Test func `the headers are those of the guide`() async throws {
        let bench = try bench()
        let headers = try await bench.client.assertions.assertionHeaders()
        #expect(Set(headers.keys) == ["X-App-Assert-KeyId", "X-App-Assert-Data", "X-App-Assert-Nonce"])
        #expect(headers["X-App-Assert-Nonce"] == AssertionGate.nonce(2))
        #expect(headers["X-App-Assert-KeyId"] == gate.server.requests[1].member("keyId") as? String)
        #expect(gate.server.lines == Self.registration + ["GET /attest/challenge"])
    }

    @Test func `a hundred callers on an empty client make one registration`() async throws {
        let bench = try bench()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { try await bench.client.assertions.registerIfNeeded() } }
            try await group.waitForAll()
        }
        #expect(gate.server.lines == Self.registration)
        #expect(bench.attest.calls == [.generateKey, .attestKey])
    }

    @Test(arguments: ["\"1800000060000\"", "1800000060000", "null", "[]", "\"never\"", "1e99"])
    func `the challenge's end may be a text or a number, or nonsense`(expires: String) async throws {
        gate.answer("/attest/challenge", .json(AssertionGate.challenge(7, expires: expires)))
        try await bench().client.assertions.registerIfNeeded()
        #expect(gate.server.requests[1].member("nonce") as? String == AssertionGate.nonce(7))
    }

    // MARK: Apple's failures

    @Test(arguments: [AppAttestFailure.invalidKey, .invalidInput], [SimulatedAppAttest.Call.generateKey, .attestKey])
    func `a key that Apple refuses is replaced once`(failure: AppAttestFailure, call: SimulatedAppAttest.Call)
        async throws
    {
        let bench = try bench()
        bench.attest.fail(call, .failure(failure))
        try await bench.client.assertions.registerIfNeeded()
        #expect(bench.attest.calls.count { $0 == .generateKey } == 2)
        let other = try self.bench()
        other.attest.fail(call, .failure(failure), .failure(failure))
        await #expect(throws: GateError.appAttest(failure)) { try await other.client.assertions.registerIfNeeded() }
        #expect(other.attest.calls.count { $0 == .generateKey } == 2)
    }

    @Test func `Apple's servers being away makes no new key`() async throws {
        let bench = try bench()
        bench.attest.fail(.attestKey, .failure(.serverUnavailable), .failure(.serverUnavailable))
        async let registered: Void = bench.client.assertions.registerIfNeeded()
        try await clock.pass(0.5...1)
        try await clock.pass(1...2)
        try await registered
        #expect(bench.attest.calls == [.generateKey, .attestKey, .attestKey, .attestKey])
    }

    @Test(arguments: [SimulatedAppAttest.Call.generateKey, .attestKey])
    func `a call of Apple's that hangs is given up after 30 s`(call: SimulatedAppAttest.Call) async throws {
        let bench = try bench()
        bench.attest.fail(call, .hang, .hang, .hang)
        let task = Task { try await bench.client.assertions.registerIfNeeded() }
        for number in 1...3 {
            // The deadline of the request for a challenge is as long.
            try await Poll.untilTrue("call \(number)") { bench.attest.calls.count { $0 == call } == number }
            try await clock.pass(30...30)
            if number < 3 { try await clock.pass(0...4) }
        }
        await #expect(throws: GateError.timedOut(call == .attestKey ? .attestKey : .generateKey)) {
            try await task.value
        }
        #expect(bench.attest.calls.count { $0 == .generateKey } == (call == .generateKey ? 3 : 1))
    }

    @Test func `without App Attest nothing is tried`() async throws {
        let bench = try bench(attest: SimulatedAppAttest(apple, isSupported: false))
        await #expect(throws: GateError.appAttestUnsupported) { try await bench.client.assertions.registerIfNeeded() }
        #expect(gate.server.lines.isEmpty && bench.attest.calls.isEmpty)
    }

    @Test func `a phone restored from a backup registers a new key by itself`() async throws {
        let first = try bench()
        try await first.client.assertions.registerIfNeeded()
        // Another device: the identifier is there, the key isn't.
        let second = try bench(first.secrets)
        let headers = try await second.client.assertions.assertionHeaders()
        #expect(second.attest.calls == [.generateAssertion, .generateKey, .attestKey, .generateAssertion])
        #expect(
            headers["X-App-Assert-KeyId"] == gate.server.requests.last { $0.path == "/attest/register" }?.member(
                "keyId") as? String)
    }

    // MARK: The gate's refusals

    @Test(arguments: [(429, "rate_limited"), (503, "attestation_unavailable"), (503, "draining")])
    func `a gate that is busy makes no new key`(status: Int, code: String) async throws {
        gate.refuse("/attest/register", status, code, headers: ["Retry-After": "3"])
        let bench = try bench()
        async let registered: Void = bench.client.assertions.registerIfNeeded()
        try await clock.pass(3...3)
        try await registered
        #expect(bench.attest.calls == [.generateKey, .attestKey])
        #expect(gate.server.lines == Self.registration + ["POST /attest/register"])
        let keys = gate.server.requests.filter { $0.path == "/attest/register" }.map { $0.member("keyId") as? String }
        #expect(keys.count == 2 && keys[0] == keys[1])
    }

    @Test func `a challenge that is 30 s from its end isn't used any more`() async throws {
        gate.refuse("/attest/register", 429, "rate_limited", headers: ["Retry-After": "9"])
        let bench = try bench()
        async let registered: Void = bench.client.assertions.registerIfNeeded()
        try await Poll.untilTrue("the back-off") { clock.sleeps.contains(9) }
        clock.advance(30)
        try await registered
        #expect(gate.server.lines == Self.registration + Self.registration)
    }

    @Test func `a gate that refuses every registration hears three of them in five minutes`() async throws {
        let bench = try bench()
        for _ in 0..<10 { gate.refuse("/attest/register", 400, "attestation_rejected") }
        for _ in 0..<3 {
            await #expect(throws: GateError.self) { try await bench.client.assertions.registerIfNeeded() }
        }
        #expect(await bench.client.circuit(.registration) == .open(retryAfter: 300))
        await #expect(throws: GateError.circuitOpen(.registration, retryAfter: 300)) {
            try await bench.client.assertions.registerIfNeeded()
        }
        #expect(gate.server.requests.count { $0.path == "/attest/register" } == 3)
        await bench.client.tryAgain(.registration)
        #expect(await bench.client.circuit(.registration) == .closed)
        // The same key is used again: Apple counts new ones.
        await #expect(throws: GateError.self) { try await bench.client.assertions.registerIfNeeded() }
        #expect(bench.attest.calls.count { $0 == .generateKey } == 1)
    }

    @Test func `an error has the gate's code and request id, and says what to do`() async throws {
        gate.refuse("/attest/register", 403, "key_revoked")
        let bench = try bench()
        do {
            try await bench.client.assertions.registerIfNeeded()
            Issue.record("registered")
        } catch {
            #expect(error.code == "key_revoked" && error.requestId == "r1" && error.retry == .never)
            #expect(error.description.contains("r1") && error.userMessage.contains("blocked"))
        }
    }

    // MARK: Upgrades

    @Test func `a session costs two requests with a key, and one with the challenge of the last refusal`() async throws
    {
        let bench = try bench()
        try await bench.client.assertions.registerIfNeeded()
        let options = ConnectionOptions(.assertion, dialect: .raw)
        let before = gate.server.lines.count
        let first = Player(bench.client.connect(options))
        try await first.connected()
        #expect(Array(gate.server.lines[before...]) == ["GET /attest/challenge", "GET /"])
        gate.refuse("/", 403, "way_not_allowed", headers: ["X-App-Assert-Challenge": AssertionGate.nonce(99)])
        #expect(try await Player(bench.client.connect(options)).end().error?.code == "way_not_allowed")
        let after = gate.server.lines.count
        try await Player(bench.client.connect(options)).connected()
        #expect(Array(gate.server.lines[after...]) == ["GET /"])
        #expect(gate.server.requests.last?["X-App-Assert-Nonce"] == AssertionGate.nonce(99))
    }

    @Test func `an unknown key is registered anew with the refusal's challenge, once`() async throws {
        let bench = try bench()
        try await bench.client.assertions.registerIfNeeded()
        gate.refuse("/", 401, "unknown_key", headers: ["X-App-Assert-Challenge": AssertionGate.nonce(50)])
        let player = Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw)))
        try await player.connected()
        let lines = gate.server.lines
        #expect(
            Array(lines[2...]) == [
                "GET /attest/challenge", "GET /", "POST /attest/register", "GET /attest/challenge", "GET /",
            ])
        #expect(gate.server.requests[4].member("nonce") as? String == AssertionGate.nonce(50))
    }

    @Test(arguments: ["invalid_nonce", "assertion_rejected"])
    func `a challenge that isn't accepted is replaced once`(code: String) async throws {
        let bench = try bench()
        try await bench.client.assertions.registerIfNeeded()
        gate.refuse("/", 401, code)
        gate.refuse("/", 401, code)
        let end = try await Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw))).end()
        #expect(end.error?.code == code && end.cause == .failed)
        #expect(gate.server.lines.count { $0 == "GET /" } == 2)
        #expect(bench.attest.calls.count { $0 == .generateKey } == 1)
    }

    @Test func `a gate that forgets each key at once hears of three new ones in five minutes`() async throws {
        let bench = try bench()
        try await bench.client.assertions.registerIfNeeded()
        for _ in 0..<50 { gate.refuse("/", 401, "unknown_key") }
        var ends: [GateError?] = []
        for _ in 0..<10 {
            ends.append(
                try await Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw))).end().error)
            await bench.client.tryAgain(.connection)
        }
        #expect(ends.first??.code == "unknown_key")
        #expect(bench.attest.calls.count { $0 == .generateKey } == 4)
        guard case .circuitOpen(.registration, _) = ends.last ?? nil else {
            Issue.record("\(String(describing: ends.last))")
            return
        }
        guard case .open = await bench.client.circuit(.registration) else {
            Issue.record("the breaker isn't open")
            return
        }
    }

    @Test func `an app that opens its own WebSocket tells of its refusal`() async throws {
        let bench = try bench()
        let assertions = bench.client.assertions
        let first = try await assertions.assertionHeaders()
        let challenge = ["x-refusal-code": "invalid_nonce", "x-app-assert-challenge": AssertionGate.nonce(70)]
        #expect(await assertions.react(toUpgradeStatus: 401, headers: challenge) == .newChallenge)
        #expect(try await assertions.assertionHeaders()["X-App-Assert-Nonce"] == AssertionGate.nonce(70))
        #expect(await assertions.react(toUpgradeStatus: 401, headers: ["X-Refusal-Code": "unknown_key"]) == .newKey)
        #expect(try await assertions.assertionHeaders()["X-App-Assert-KeyId"] != first["X-App-Assert-KeyId"])
        #expect(await assertions.react(toUpgradeStatus: 503, headers: [:]) == .wait)
    }

    @Test func `nothing secret is logged or described`() async throws {
        let bench = try bench()
        let headers = try await bench.client.assertions.assertionHeaders()
        let text = bench.lines.current.joined(separator: "\n")
        #expect(text.contains("registered the App Attest key"))
        for secret in headers.values { #expect(!text.contains(secret)) }
    }
}
