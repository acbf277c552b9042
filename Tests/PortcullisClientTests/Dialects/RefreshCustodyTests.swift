import EdgeTestKit
import Foundation
import PortcullisClientNIO
import Testing

@testable import PortcullisClient

/// A device's wrapping key, and a player who types a PIN.
private final class TypedPIN: LocalUnlock {
    private let typed: Locked<String?>

    init(_ pin: String?) { typed = Locked(pin) }

    func type(_ pin: String) { typed.withLock { $0 = pin } }

    func makeKey() async throws -> Data { Data(repeating: 7, count: 32) }

    func secret(of restoration: Data, salt: Data) async throws -> Data {
        Data(Digest.sha256(Array(restoration + salt)))
    }

    func pin(attemptsLeft: Int?) async throws -> String? { typed.withLock { $0 } }
}

@Suite struct RefreshCustodyTests {
    private let secrets = MemorySecretStore()

    /// As after a start of the app.
    private func custody(_ unlock: any LocalUnlock) throws -> RefreshCustody {
        var platform = ClientPlatform(transport: try NIOTransport(), secrets: secrets)
        platform.unlock = unlock
        return RefreshCustody(
            try GateConfiguration(
                baseURLString: "https://mud.example.com", teamIdentifier: "ABCDE12345",
                bundleIdentifier: "com.example.mud"), platform)
    }

    @Test(arguments: [nil, "2468"]) func `a token outlives the process`(pin: String?) async throws {
        let unlock = TypedPIN(pin)
        try await custody(unlock).begin("first")
        let next = try custody(unlock)
        #expect(try await next.token() == "first")
        #expect(try await next.replace("first", by: "second"))
        #expect(try await custody(unlock).token() == "second")
        #expect(try await next.replace("first", by: "third") == false)
    }

    @Test func `five wrong PINs clear the token, over restarts of the app`() async throws {
        let unlock = TypedPIN("2468")
        try await custody(unlock).begin("first")
        unlock.type("1357")
        for left in [4, 3, 2, 1, 0] {
            await #expect(throws: UnlockFailure.wrongPIN(attemptsLeft: left)) { try await custody(unlock).token() }
        }
        unlock.type("2468")
        #expect(try await custody(unlock).token() == nil)
        #expect(try await custody(unlock).reason() == .tooManyWrongPINs)
    }

    @Test func `the right PIN forgives the wrong ones`() async throws {
        let unlock = TypedPIN("2468")
        try await custody(unlock).begin("first")
        for _ in 0..<2 {
            unlock.type("1357")
            for _ in 0..<4 { await #expect(throws: UnlockFailure.self) { try await custody(unlock).token() } }
            unlock.type("2468")
            #expect(try await custody(unlock).token() == "first")
        }
    }

    @Test func `a log-out meanwhile isn't undone by a successor`() async throws {
        let custody = try custody(TypedPIN(nil))
        try await custody.begin("first")
        try await custody.clear(.loggedOut)
        #expect(try await custody.replace("first", by: "second") == false)
        #expect(try await custody.token() == nil)
        #expect(try await custody.reason() == .loggedOut)
    }
}
