import EdgeTestKit
import Foundation
import PortcullisClientNIO
import Testing

@testable import PortcullisClient

/// Where the refresh token is kept, and what unlocks it.
@Suite("The custody of refresh tokens", .timeLimit(.minutes(5)))
struct RefreshCustodyTests {
    private static let now = 1_800_000_000.0

    private let secrets = MemorySecretStore()
    private let configuration: GateConfiguration

    init() throws {
        configuration = try GateConfiguration(
            baseURLString: "https://mud.example.com", teamIdentifier: "ABCDE12345",
            bundleIdentifier: "com.example.mud")
    }

    /// As after a start of the app.
    ///
    /// - Parameter rounds: nil: as many as the library makes.
    private func custody(_ unlock: any LocalUnlock, rounds: Int? = Bench.pinRounds) throws -> RefreshCustody {
        var platform = ClientPlatform(transport: try NIOTransport(), secrets: secrets)
        platform.unlock = unlock
        if let rounds { platform.pinRounds = rounds }
        return RefreshCustody(configuration, platform)
    }

    private func token(_ text: String) -> RefreshToken { RefreshToken(text: text, end: Self.now + 100) }

    @Test(arguments: [nil, "2468"]) func `a token outlives the process`(pin: String?) async throws {
        let unlock = TypedPIN(pin)
        try await custody(unlock).begin(token("first"))
        let next = try custody(unlock)
        #expect(try await next.token(at: Self.now) == "first")
        #expect(try await next.replace("first", by: token("second")))
        // Another process has got the same.
        #expect(try await next.replace("first", by: token("second")))
        #expect(try await custody(unlock).token(at: Self.now) == "second")
        #expect(try await next.replace("first", by: token("third")) == false)
        #expect(unlock.prompts == (pin == nil ? [nil] : [nil, 5, 5]))
    }

    @Test func `a PIN is stretched a hundred thousand times`() async throws {
        let unlock = TypedPIN("2468")
        try await custody(unlock, rounds: nil).begin(token("first"))
        await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: 4)) {
            try await custody(unlock).token(at: Self.now)
        }
        #expect(try await custody(unlock, rounds: 100_000).token(at: Self.now) == "first")
    }

    @Test func `neither the token nor the PIN is stored`() async throws {
        try await custody(TypedPIN("24681357")).begin(token("opaque-token"))
        let stored = try #require(try secrets.read(StoredName.of("refresh-token", configuration)))
        let digest = Digest.sha256(Array("24681357".utf8))
        for secret in [Data("opaque-token".utf8), Data("24681357".utf8), Data(digest)] {
            #expect(stored.range(of: secret) == nil && stored.range(of: Data(secret.base64EncodedString().utf8)) == nil)
        }
    }

    @Test func `five wrong PINs clear the token, over restarts of the app`() async throws {
        let unlock = TypedPIN("2468")
        try await custody(unlock).begin(token("first"))
        unlock.type("1357")
        for left in [4, 3, 2, 1, 0] {
            await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: left)) {
                try await custody(unlock).token(at: Self.now)
            }
        }
        unlock.type("2468")
        #expect(try await custody(unlock).token(at: Self.now) == nil)
        #expect(try await custody(unlock).reason(at: Self.now) == .tooManyWrongPINs)
    }

    @Test func `the right PIN forgives the wrong ones`() async throws {
        let unlock = TypedPIN("2468")
        try await custody(unlock).begin(token("first"))
        for _ in 0..<2 {
            unlock.type("1357")
            for left in [4, 3, 2, 1] {
                await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: left)) {
                    try await custody(unlock).token(at: Self.now)
                }
            }
            unlock.type("2468")
            #expect(try await custody(unlock).token(at: Self.now) == "first")
        }
    }

    @Test func `a PIN has 4 to 64 characters, and others count as no attempt`() async throws {
        let unlock = TypedPIN(nil)
        for pin in ["", "246", "äöü", String(repeating: "1", count: 65)] {
            unlock.type(pin)
            await #expect(throws: UnlockFailure.unusablePIN) { try await custody(unlock).begin(token("first")) }
        }
        for pin in ["2468", String(repeating: "é", count: 32)] {
            unlock.type(pin)
            try await custody(unlock).begin(token("first"))
            for wrong in ["246", "", nil] {
                unlock.type(wrong)
                let failure: UnlockFailure = wrong == nil ? .cancelled : .unusablePIN
                for _ in 0..<5 {
                    await #expect(throws: failure) { try await custody(unlock).token(at: Self.now) }
                }
            }
            unlock.type(pin)
            #expect(try await custody(unlock).token(at: Self.now) == "first")
        }
    }

    @Test(arguments: [UnlockFailure.cancelled, .unsupported, .other(-8)])
    func `an unlock that fails clears nothing`(failure: UnlockFailure) async throws {
        let unlock = TypedPIN(nil)
        try await custody(unlock).begin(token("first"))
        unlock.fail(failure)
        for _ in 0..<6 { await #expect(throws: failure) { try await custody(unlock).token(at: Self.now) } }
        unlock.fail(nil)
        #expect(try await custody(unlock).token(at: Self.now) == "first")
    }

    @Test func `an unlock's other errors are none of the network`() async throws {
        struct Odd: LocalUnlock {
            func makeKey() async throws -> Data { Data() }
            func secret(of restoration: Data, salt: Data) async throws -> Data { throw POSIXError(.EIO) }
            func pin(attemptsLeft: Int?) async throws -> String? { throw CancellationError() }
        }
        try await custody(TypedPIN(nil)).begin(token("first"))
        await #expect(throws: UnlockFailure.other(-1)) { try await custody(Odd()).token(at: Self.now) }
        await #expect(throws: UnlockFailure.cancelled) { try await custody(Odd()).begin(token("second")) }
    }

    @Test func `a wrapping key that never comes back clears the token`() async throws {
        let unlock = TypedPIN(nil)
        try await custody(unlock).begin(token("first"))
        unlock.fail(.keyGone)
        await #expect(throws: UnlockFailure.keyGone) { try await custody(unlock).token(at: Self.now) }
        unlock.fail(nil)
        #expect(try await custody(unlock).token(at: Self.now) == nil)
        #expect(try await custody(unlock).reason(at: Self.now) == .unlockLost)
    }

    @Test func `without an unlock nothing is stored, and nothing is cleared`() async throws {
        let (unlock, none) = (TypedPIN("2468"), NoLocalUnlock())
        try await custody(none).begin(token("first"))
        #expect(try await custody(unlock).reason(at: Self.now) == .notSignedIn)
        try await custody(unlock).begin(token("first"))
        let later = try custody(none)
        try await later.begin(token("second"))
        for _ in 0..<6 { #expect(try await later.token(at: Self.now) == nil) }
        #expect(try await later.reason(at: Self.now) == .noUnlock)
        #expect(try await custody(unlock).token(at: Self.now) == "first")
    }

    @Test func `a token is over at its end, and kept in case the clock was wrong`() async throws {
        let custody = try custody(TypedPIN(nil))
        try await custody.begin(token("first"))
        #expect(try await custody.reason(at: Self.now + 99) == nil)
        #expect(try await custody.reason(at: Self.now + 100) == .expired)
        #expect(try await custody.token(at: Self.now + 100) == nil)
        #expect(try await custody.token(at: Self.now + 99) == "first")
        try await custody.begin(RefreshToken(text: "second", end: nil))
        #expect(try await custody.token(at: Self.now + 1e9) == "second")
    }

    @Test func `a log-out meanwhile isn't undone by a successor`() async throws {
        let custody = try custody(TypedPIN(nil))
        try await custody.begin(token("first"))
        try await custody.clear(.loggedOut)
        #expect(try await custody.replace("first", by: token("second")) == false)
        #expect(try await custody.token(at: Self.now) == nil)
        #expect(try await custody.reason(at: Self.now) == .loggedOut)
    }

    @Test func `a sign-in that isn't stored ends the use of the token before it`() async throws {
        let unlock = TypedPIN("2468")
        let custody = try custody(unlock)
        try await custody.begin(token("first"))
        unlock.fail(.cancelled)
        await #expect(throws: UnlockFailure.cancelled) { try await custody.begin(token("second")) }
        unlock.fail(nil)
        #expect(try await custody.token(at: Self.now) == nil)
        #expect(try await custody.reason(at: Self.now) == .notSignedIn)
    }

    @Test func `only the refused token is dropped`() async throws {
        let custody = try custody(TypedPIN(nil))
        try await custody.begin(token("first"))
        try await custody.drop("other")
        #expect(try await custody.token(at: Self.now) == "first")
        try await custody.drop("first")
        #expect(try await custody.reason(at: Self.now) == .ended)
    }

    /// Of RFC 7914 section 11 and of Python's hashlib.
    @Test(arguments: [
        (1, "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"),
        (4_096, "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"),
    ])
    func `a PIN is stretched by PBKDF2`(rounds: Int, expected: String) {
        let key = UnlockedKey.stretched(Array("password".utf8), Array("salt".utf8), rounds: rounds)
        #expect(BinaryText.hexadecimal(key) == expected)
    }
}
