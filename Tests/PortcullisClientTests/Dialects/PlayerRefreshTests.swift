import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// A gate that knows no cryptography, and a player who has signed in before this start of the app.
@Suite("Players who stay signed in", .timeLimit(.minutes(5)))
struct PlayerRefreshTests {
    private static let line = "POST \(AccountPath.refresh)"

    private let gate: TokenGate
    private let clock = ManualClock()
    private let secrets = MemorySecretStore()

    init() async throws { gate = try await TokenGate() }

    private static func pair(
        _ number: Int, lifetime: String = "2592000", headers: [String: String] = [:]
    ) -> StandIn.Answer {
        .json(
            """
            {"accessToken":"access\(number)","expiresIn":900,\
            "refreshToken":"refresh\(number)","refreshExpiresIn":\(lifetime)}
            """, headers: headers)
    }

    private func bench(
        _ url: String? = nil, unlock: any LocalUnlock = TypedPIN(nil), store: (any SecretStore)? = nil
    ) throws -> Bench {
        try Bench(url ?? gate.server.url, secrets: secrets, clock: clock, unlock: unlock, store: store)
    }

    /// - Parameter life: of the refresh token, in seconds.
    private func signedIn(_ bench: Bench, for life: Double = 2_592_000) async throws -> PlayerAccounts {
        let end = clock.date.timeIntervalSince1970 + life
        try await bench.client.accounts.custody.begin(RefreshToken(text: "refresh0", end: end))
        return bench.client.accounts
    }

    private static func authorization(_ accounts: PlayerAccounts) async throws -> String? {
        try await accounts.tokens.authorizationHeaders(for: "api", method: .get)["Authorization"]
    }

    private static func used(_ server: StandIn) -> [String?] {
        server.requests.filter { $0.path == AccountPath.refresh }.map { $0.member("refreshToken") as? String }
    }

    /// What the next start of the app would find.
    private func stored(for url: String? = nil) async throws -> String? {
        try await bench(url).client.accounts.custody.token(at: clock.date.timeIntervalSince1970)
    }

    // MARK: Renewals

    @Test func `a hundred callers make one use, and the next one is of the successor`() async throws {
        let accounts = try await signedIn(bench())
        for number in 1...2 {
            gate.answer(AccountPath.refresh, Self.pair(number))
            let fields = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<100 { group.addTask { try await Self.authorization(accounts) } }
                return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
            }
            #expect(fields == ["DPoP access\(number)"])
            #expect(try await stored() == "refresh\(number)")
            clock.advance(900)
        }
        #expect(Self.used(gate.server) == ["refresh0", "refresh1"] && gate.server.lines == [Self.line, Self.line])
        #expect(gate.server.requests.allSatisfy { $0["DPoP"] != nil && $0["Authorization"] == nil })
    }

    @Test(arguments: ["503", "429", "502", "cut", "silence"])
    func `after a lost answer the same token is used again`(failure: String) async throws {
        let accounts = try await signedIn(bench())
        let lost: StandIn.Answer =
            switch failure {
            case "503": TokenGate.refusal(503, "temporarily_unavailable")
            case "429": TokenGate.refusal(429, "rate_limited")
            case "502": .reply(502, body: "Bad gateway")
            case "cut": .hangUp
            default: .silence
            }
        gate.answer(AccountPath.refresh, lost, lost, lost)
        let call = Task { try await Self.authorization(accounts) }
        for (index, wait) in [1.0, 2.0, nil].enumerated() {
            if failure == "silence" {
                _ = try await gate.server.request(index)
                try await clock.pass(19...21)
            }
            if let wait { try await clock.pass((wait / 2)...(wait * 1.5)) }
        }
        await #expect(throws: GateError.self) { try await call.value }
        #expect(try await stored() == "refresh0")
        #expect(try await accounts.authenticationState() == .authenticated)
        gate.answer(AccountPath.refresh, Self.pair(1))
        clock.advance(60)
        #expect(try await Self.authorization(accounts) == "DPoP access1")
        #expect(Self.used(gate.server) == ["refresh0", "refresh0", "refresh0", "refresh0"])
        #expect(try await stored() == "refresh1")
    }

    @Test func `a successor that can't be stored isn't used, nor is what came with it`() async throws {
        let store = StubbornStore(secrets)
        let accounts = try await signedIn(bench(store: store))
        gate.answer(AccountPath.refresh, Self.pair(1), Self.pair(2), Self.pair(2), Self.pair(2), Self.pair(2))
        #expect(try await Self.authorization(accounts) == "DPoP access1")
        clock.advance(900)
        store.isFull = true
        let call = Task { try await Self.authorization(accounts) }
        for wait in [1.0, 2.0] { try await clock.pass((wait / 2)...(wait * 1.5)) }
        await #expect(throws: GateError.storage("full")) { try await call.value }
        #expect(await !accounts.isSignedIn)
        store.isFull = false
        clock.advance(60)
        #expect(try await Self.authorization(accounts) == "DPoP access2")
        #expect(Self.used(gate.server) == ["refresh0", "refresh1", "refresh1", "refresh1", "refresh1"])
    }

    // MARK: Callers who leave, and log-outs meanwhile

    /// Answers when a test lets it.
    private func slowServer() async throws -> (server: StandIn, isOpen: Awaited<Bool>) {
        let isOpen = Awaited(false)
        let server = try await StandIn { _ in
            try? await isOpen.wait(for: "the answer") { $0 ? () : nil }
            return Self.pair(1)
        }
        return (server, isOpen)
    }

    @Test func `a use is finished though its caller has left, and no other is of the same token`() async throws {
        let (server, isOpen) = try await slowServer()
        let accounts = try await signedIn(bench(server.url))
        let first = Task { try await Self.authorization(accounts) }
        _ = try await server.request(0)
        first.cancel()
        await #expect(throws: GateError.cancelled) { try await first.value }
        let second = Task { try await Self.authorization(accounts) }
        isOpen.update { $0 = true }
        #expect(try await second.value == "DPoP access1")
        // The second caller joins the use, or begins the next one.
        #expect(Self.used(server).count { $0 == "refresh0" } == 1)
        #expect(try await stored(for: server.url) == "refresh1")
    }

    @Test func `a log-out during a use leaves nobody signed in`() async throws {
        let (server, isOpen) = try await slowServer()
        let accounts = try await signedIn(bench(server.url))
        let call = Task { try await Self.authorization(accounts) }
        _ = try await server.request(0)
        await accounts.signOut()
        isOpen.update { $0 = true }
        await #expect(throws: GateError.signInRequired) { try await call.value }
        #expect(try await accounts.authenticationState() == .needsSignIn(.loggedOut))
        #expect(await !accounts.isSignedIn)
        #expect(server.requests.count == 1)
    }

    @Test func `a sign-in during a use is the one that counts`() async throws {
        let (server, isOpen) = try await slowServer()
        let accounts = try await signedIn(bench(server.url))
        let call = Task { try await Self.authorization(accounts) }
        _ = try await server.request(0)
        try await accounts.keep {
            TokenIssuer.Answer(
                text: "another", lifetime: 900, isDevelopment: false,
                refreshToken: RefreshToken(text: "another0", end: nil))
        }
        isOpen.update { $0 = true }
        #expect(try await call.value == "DPoP another")
        #expect(Self.used(server).first == "refresh0" && Self.used(server).count { $0 == "refresh0" } == 1)
        #expect(try await Self.authorization(accounts) == "DPoP another")
    }

    @Test func `a log-out that the keychain doesn't take holds until the app ends`() async throws {
        let store = StubbornStore(secrets)
        let accounts = try await signedIn(bench(store: store))
        store.isFull = true
        await accounts.signOut()
        #expect(try await accounts.authenticationState() == .needsSignIn(.loggedOut))
        await #expect(throws: GateError.signInRequired) { try await Self.authorization(accounts) }
        #expect(gate.server.lines == [])
    }

    // MARK: The end

    @Test func `a refused token is forgotten`() async throws {
        let accounts = try await signedIn(bench())
        gate.answer(AccountPath.refresh, TokenGate.refusal(401, "invalid_token"))
        for _ in 0..<3 {
            await #expect(throws: GateError.signInRequired) { try await Self.authorization(accounts) }
            #expect(try await accounts.authenticationState() == .needsSignIn(.ended))
        }
        #expect(gate.server.lines == [Self.line])
        #expect(try await stored() == nil)
    }

    @Test(arguments: [
        (401, "clock_skew"), (401, "invalid_dpop_proof"), (401, ""), (400, "invalid_request"), (403, "device_blocked"),
        (404, "not_found"), (403, "invalid_token"), (503, "invalid_token"), (302, "invalid_token"),
    ])
    func `nothing else forgets it`(status: Int, code: String) async throws {
        let accounts = try await signedIn(bench())
        gate.answer(AccountPath.refresh, TokenGate.refusal(status, code), Self.pair(1))
        await #expect(throws: GateError.self) { try await Self.authorization(accounts) }
        #expect(try await stored() == "refresh0")
        #expect(try await accounts.authenticationState() == .authenticated)
        #expect(try await Self.authorization(accounts) == "DPoP access1")
        #expect(Self.used(gate.server) == ["refresh0", "refresh0"])
    }

    @Test(arguments: [
        ("refreshToken", #"{"accessToken":"a","expiresIn":900}"#),
        ("refreshToken", #"{"accessToken":"a","expiresIn":900,"refreshToken":7}"#),
        ("refreshToken", #"{"accessToken":"a","expiresIn":900,"refreshToken":""}"#),
        ("refreshToken", #"{"accessToken":"a","expiresIn":900,"refreshToken":"a b"}"#),
        (
            "refreshToken",
            #"{"accessToken":"a","expiresIn":900,"refreshToken":"\#(String(repeating: "a", count: 201))"}"#
        ),
        ("refreshExpiresIn", #"{"accessToken":"a","expiresIn":900,"refreshToken":"b","refreshExpiresIn":-1}"#),
        ("refreshExpiresIn", #"{"accessToken":"a","expiresIn":900,"refreshToken":"b","refreshExpiresIn":"1"}"#),
    ])
    func `an answer that can't be used changes nothing`(member: String, answer: String) async throws {
        let accounts = try await signedIn(bench())
        gate.answer(AccountPath.refresh, .json(answer))
        await #expect(throws: GateError.malformedAnswer(.member(member))) { try await Self.authorization(accounts) }
        #expect(await !accounts.isSignedIn)
        #expect(try await stored() == "refresh0")
    }

    @Test func `a token of 200 bytes is kept, and its end may be unknown`() async throws {
        let accounts = try await signedIn(bench())
        let token = String(repeating: "a", count: 200)
        gate.answer(
            AccountPath.refresh, .json(#"{"accessToken":"a","expiresIn":900,"refreshToken":"\#(token)"}"#))
        #expect(try await Self.authorization(accounts) == "DPoP a")
        clock.advance(1e9)
        #expect(try await stored() == token)
    }

    @Test func `when the days of a token are over nothing is sent`() async throws {
        let accounts = try await signedIn(bench(), for: 1_000)
        gate.answer(AccountPath.refresh, Self.pair(1, lifetime: "2000"))
        clock.advance(999)
        #expect(try await accounts.authenticationState() == .authenticated)
        #expect(try await Self.authorization(accounts) == "DPoP access1")
        clock.advance(1_999)
        #expect(try await accounts.authenticationState() == .authenticated)
        clock.advance(1)
        for _ in 0..<5 {
            #expect(try await accounts.authenticationState() == .needsSignIn(.expired))
            await #expect(throws: GateError.signInRequired) { try await Self.authorization(accounts) }
            await #expect(throws: GateError.signInRequired) { try await accounts.removeAccount() }
        }
        #expect(gate.server.lines == [Self.line])
    }

    @Test func `a device's clock that is set meanwhile ends no token`() async throws {
        let accounts = try await signedIn(bench())
        gate.answer(AccountPath.refresh, Self.pair(1, headers: ["Date": "Fri, 15 Jan 2027 08:00:00 GMT"]))
        #expect(try await Self.authorization(accounts) == "DPoP access1")
        for (number, date) in [(2, 2_000_000_000.0), (3, 0)] {
            clock.setDate(date)
            clock.advance(900)
            #expect(try await accounts.authenticationState() == .authenticated)
            gate.answer(AccountPath.refresh, Self.pair(number))
            #expect(try await Self.authorization(accounts) == "DPoP access\(number)")
        }
        // The token's days are over all the same, by the server's clock.
        clock.advance(2_592_000)
        #expect(try await accounts.authenticationState() == .needsSignIn(.expired))
    }

    // MARK: Unlocks

    @Test func `wrong PINs and closed dialogs are no failures of the gate`() async throws {
        let unlock = TypedPIN("2468")
        _ = try await signedIn(bench(unlock: unlock))
        let bench = try bench(unlock: unlock)
        let accounts = bench.client.accounts
        unlock.fail(.cancelled)
        for _ in 0..<5 {
            await #expect(throws: GateError.unlock(.cancelled)) { try await Self.authorization(accounts) }
        }
        unlock.fail(nil)
        unlock.type("1357")
        for left in [4, 3, 2, 1] {
            await #expect(throws: GateError.unlock(.wrongPIN(attemptsLeft: left))) {
                try await Self.authorization(accounts)
            }
        }
        let end = try await Player(bench.client.connect(ConnectionOptions(.account))).end()
        #expect(end.error == .unlock(.wrongPIN(attemptsLeft: 0)) && end.action == .askUser)
        #expect(try await accounts.authenticationState() == .needsSignIn(.tooManyWrongPINs))
        #expect(gate.server.lines == [])
        for operation in GateOperation.allCases { #expect(await bench.client.circuit(operation) == .closed) }
    }

    @Test func `nothing secret is logged`() async throws {
        let bench = try bench(unlock: TypedPIN("24681357"))
        let accounts = try await signedIn(bench)
        gate.answer(AccountPath.refresh, Self.pair(1), TokenGate.refusal(401, "invalid_token"))
        _ = try await Self.authorization(accounts)
        clock.advance(900)
        await #expect(throws: GateError.signInRequired) { try await Self.authorization(accounts) }
        let text = bench.lines.current.joined()
        for secret in ["refresh0", "refresh1", "access1", "24681357"] { #expect(!text.contains(secret)) }
    }
}

/// A store that takes nothing more when it is full.
private final class StubbornStore: SecretStore {
    private let secrets: MemorySecretStore
    private let full = Locked(false)

    struct Full: Error, CustomStringConvertible { let description = "full" }

    init(_ secrets: MemorySecretStore) { self.secrets = secrets }

    var isFull: Bool {
        get { full.withLock { $0 } }
        set { full.withLock { $0 = newValue } }
    }

    func read(_ name: String) throws -> Data? { try secrets.read(name) }

    func write(_ name: String, _ value: Data) throws {
        guard !isFull else { throw Full() }
        try secrets.write(name, value)
    }

    func delete(_ name: String) throws { try secrets.delete(name) }
}
