import Foundation
import PortcullisClientNIO
import Testing

@testable import PortcullisClient

/// When the device key is replaced: tokens are bound to it.
@Suite("A device key", .timeLimit(.minutes(5)))
struct DeviceKeyTests {
    /// A Secure Enclave that doesn't always answer.
    private final class Enclave: DeviceKeyMaker {
        let failure = Locked<(any Error)?>(nil)

        func makeKey() throws -> (key: any DeviceKey, restoration: Data) { try SoftwareDeviceKeys().makeKey() }

        func restoreKey(_ restoration: Data) throws -> any DeviceKey {
            if let failure = failure.withLock({ $0 }) { throw failure }
            return try SoftwareDeviceKeys().restoreKey(restoration)
        }
    }

    /// A keychain before the first unlock.
    private struct LockedStore: SecretStore {
        func read(_ name: String) throws -> Data? { throw Busy() }
        func write(_ name: String, _ value: Data) throws { Issue.record("\(name) is replaced") }
        func delete(_ name: String) throws { Issue.record("\(name) is removed") }
    }

    private struct Busy: Error {}

    private let enclave = Enclave()
    private let secrets = MemorySecretStore()
    private let configuration: GateConfiguration

    init() throws {
        configuration = try GateConfiguration(
            baseURLString: "https://gate.example", teamIdentifier: "ABCDE12345", bundleIdentifier: "org.example.mud")
    }

    private func custody(_ store: (any SecretStore)? = nil) throws -> DeviceKeyCustody {
        DeviceKeyCustody(
            configuration,
            ClientPlatform(
                transport: try NIOTransport(trust: ServerTrust()), deviceKeys: enclave, secrets: store ?? secrets))
    }

    private func kept() throws -> Data? { try secrets.read(StoredName.of("device-key", configuration)) }

    @Test func `that can't be used at the moment is kept`() async throws {
        let thumbprint = try await custody().key().thumbprint
        let restoration = try kept()
        enclave.failure.withLock { $0 = Busy() }
        let custody = try custody()
        for _ in 0..<3 {
            await #expect(throws: GateError.deviceKey("\(Busy())")) { try await custody.key() }
            #expect(try kept() == restoration)
        }
        enclave.failure.withLock { $0 = nil }
        #expect(try await custody.key().thumbprint == thumbprint)
        #expect(GateError.deviceKey("x").retry != .never)
    }

    @Test func `that is gone is replaced, once`() async throws {
        let thumbprint = try await custody().key().thumbprint
        enclave.failure.withLock { $0 = DeviceKeyGone() }
        let custody = try custody()
        let next = try await custody.key().thumbprint
        #expect(next != thumbprint)
        #expect(try await custody.key().thumbprint == next)
        enclave.failure.withLock { $0 = nil }
        #expect(try await self.custody().key().thumbprint == next)
    }

    @Test func `isn't replaced while the keychain can't be read`() async throws {
        let custody = try custody(LockedStore())
        await #expect(throws: GateError.storage("\(Busy())")) { try await custody.key() }
    }

    @Test func `is gone if what brings it back is damaged, or of another device, and not while it is locked`() {
        for damaged in [[], [1, 2, 3], [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 33)] {
            #expect(throws: DeviceKeyGone()) { try SoftwareDeviceKeys().restoreKey(Data(damaged)) }
        }
        for code in [-3, -6, -8] { #expect(DeviceKeyGone(domain: "CryptoTokenKit", code: code) != nil) }
        #expect(DeviceKeyGone(domain: "CryptoKit.CryptoKitError", code: 1) != nil)
        // Communication, cancellation, authentication, no token, and what the keychain says before the first unlock.
        for code in [-1, -2, -4, -5, -7, -9] { #expect(DeviceKeyGone(domain: "CryptoTokenKit", code: code) == nil) }
        #expect(DeviceKeyGone(domain: "NSOSStatusErrorDomain", code: -25_308) == nil)
        #expect(DeviceKeyGone(domain: "NSOSStatusErrorDomain", code: -3) == nil)
    }
}
