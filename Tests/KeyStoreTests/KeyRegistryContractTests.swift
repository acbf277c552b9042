import KeyStore
import Testing

/// The contract of every store; run for each store, and for both parts of a store if both can do it.
@Suite("A key store")
struct KeyRegistryContractTests {
    @Test(arguments: RegistryKind.allCases)
    func `returns the enrolled key`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        var plain = DeviceKey.sample(2)
        plain.validationCategory = nil
        plain.bundleVersion = nil
        plain.receipt = []
        for key in [DeviceKey.sample(1), plain] {
            #expect(try await registry.key(key.id) == nil)
            #expect(try await registry.enrol(key) == .enrolled)
            #expect(try await registry.key(key.id) == key)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `reports a key's current state`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let key = DeviceKey.sample(counter: 3)
        func expectStanding(counter: UInt32, isRevoked: Bool = false, app: String = key.app) async throws {
            let expected = KeyStanding(
                id: key.id, publicKeyX963: key.publicKeyX963, app: app, environment: key.environment,
                trustRoot: key.trustRoot, counter: counter, isRevoked: isRevoked)
            #expect(try await part.standing(of: key.id, in: registry) == expected)
            #expect(try await registry.key(key.id)?.standing == expected)
        }
        #expect(try await part.standing(of: key.id, in: registry) == nil)
        _ = try await registry.enrol(key)
        try await expectStanding(counter: 3)
        _ = try await part.advance(key.id, to: .max - 1, at: 1, in: registry)
        try await expectStanding(counter: .max - 1)
        _ = try await registry.revoke(key.id, reason: "lost", at: 2)
        try await expectStanding(counter: .max - 1, isRevoked: true)
        _ = try await registry.restore(key.id)
        var moved = key
        moved.app = ""
        _ = try await registry.enrol(moved)
        try await expectStanding(counter: .max - 1, app: "")
        _ = try await registry.forget(key.id)
        #expect(try await part.standing(of: key.id, in: registry) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `takes over a newer attestation and keeps the key's history`(kind: RegistryKind, part: StorePart) async throws
    {
        let (registry, owner) = try await kind.make()
        let first = DeviceKey.sample()
        #expect(try await registry.enrol(first) == .enrolled)
        #expect(try await part.advance(first.id, to: 8, at: 1000, in: registry) == .advanced)

        var second = first
        second.app = "ABCDE12345.org.example.other"
        second.environment = "development"
        second.trustRoot = [UInt8](repeating: 8, count: 32)
        second.receipt = [1, 2, 3]
        second.validationCategory = nil
        second.bundleVersion = "2"
        second.registeredAt += 5000
        #expect(try await registry.enrol(second) == .alreadyEnrolled)

        var expected = second
        expected.counter = 8
        expected.registeredAt = first.registeredAt
        expected.lastUsedAt = 1000
        #expect(try await registry.key(first.id) == expected)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `never lowers a counter by enrolment, but raises it`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        for (counter, expected) in [(5, 5), (4, 5), (0, 5), (6, 6)] as [(UInt32, UInt32)] {
            _ = try await registry.enrol(.sample(counter: counter))
            #expect(try await registry.key(.sample(1))?.counter == expected)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `advances a counter only upwards, up to its last value`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample())
        #expect(try await part.advance(id, to: 0, at: 1, in: registry) == .notHigher(stored: 0))
        #expect(try await part.advance(id, to: 1, at: 2, in: registry) == .advanced)
        #expect(try await part.advance(id, to: 1, at: 3, in: registry) == .notHigher(stored: 1))
        #expect(try await part.advance(id, to: .max - 1, at: 4, in: registry) == .advanced)
        #expect(try await part.advance(id, to: .max, at: 5, in: registry) == .advanced)
        #expect(try await part.advance(id, to: .max, at: 6, in: registry) == .notHigher(stored: .max))
        #expect(try await part.advance(id, to: 0, at: 7, in: registry) == .notHigher(stored: .max))
        #expect(try await registry.key(id)?.counter == .max)
        #expect(try await registry.key(id)?.lastUsedAt == 5)
        #expect(try await part.advance(.sample(9), to: 1, at: 8, in: registry) == .unknownKey)
        #expect(try await registry.key(.sample(9)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `lets exactly one of many concurrent callers advance to a counter`(kind: RegistryKind, part: StorePart)
        async throws
    {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample())
        for counter in UInt32(1)...20 {
            let advances = try await part.race(16, for: id, in: registry) { _ in counter }
            #expect(advances.count { $0 == .advanced } == 1)
            #expect(advances.count { $0 == .notHigher(stored: counter) } == 15)
        }
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `ends at the highest counter of many concurrent callers`(kind: RegistryKind, part: StorePart) async throws {
        let (registry, owner) = try await kind.make()
        let id = DeviceKey.sample().id
        _ = try await registry.enrol(.sample())
        // Concurrent registrations of the same key must not lower the counter.
        async let enrolments: Void = { for _ in 0..<8 { _ = try await registry.enrol(.sample()) } }()
        _ = try await part.race(32, for: id, in: registry) { UInt32($0 + 1) }
        try await enrolments
        #expect(try await registry.key(id)?.counter == 32)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: StorePart.all)
    func `keeps a revoked key revoked until it is restored`(kind: RegistryKind, part: StorePart)
        async throws
    {
        let (registry, owner) = try await kind.make()
        let key = DeviceKey.sample(counter: 3)
        _ = try await registry.enrol(key)
        #expect(try await registry.revoke(key.id, reason: "lost", at: 50))
        var revoked = key
        revoked.revokedAt = 50
        revoked.revocationReason = "lost"

        var newer = DeviceKey.sample(counter: 90)
        newer.app = "ABCDE12345.org.example.other"
        #expect(try await registry.enrol(newer) == .revoked)
        #expect(try await part.advance(key.id, to: 91, at: 60, in: registry) == .revoked)
        #expect(try await registry.forget(key.id) == .refusedRevoked)
        #expect(try await registry.revoke(key.id, reason: "again", at: 70))
        #expect(try await registry.key(key.id) == revoked)

        #expect(try await registry.restore(key.id))
        #expect(try await registry.key(key.id) == key)
        #expect(try await part.advance(key.id, to: 3, at: 80, in: registry) == .notHigher(stored: 3))
        #expect(try await part.advance(key.id, to: 4, at: 81, in: registry) == .advanced)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `forgets a key that isn't revoked, and registers it again`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        let key = DeviceKey.sample(counter: 3)
        _ = try await registry.enrol(key)
        _ = try await registry.enrol(.sample(2))
        #expect(try await registry.forget(key.id) == .forgotten)
        #expect(try await registry.key(key.id) == nil)
        #expect(try await registry.key(.sample(2)) == .sample(2))
        #expect(try await registry.enrol(.sample()) == .enrolled)
        #expect(try await registry.key(key.id)?.counter == 0)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases)
    func `reports administration of an unknown key`(kind: RegistryKind) async throws {
        let (registry, owner) = try await kind.make()
        #expect(try await !registry.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try await !registry.restore(.sample(1)))
        #expect(try await registry.forget(.sample(1)) == .unknown)
        #expect(try await registry.keys(after: nil, limit: 10).isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test(
        arguments: RegistryKind.allCases,
        [1, 2, 3, 5, 6, 1000])
    func `lists all keys in pages, in the order of their identifiers`(kind: RegistryKind, limit: Int) async throws {
        let (registry, owner) = try await kind.make()
        let order: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF]
        for byte in order.reversed() { _ = try await registry.enrol(.sample(byte)) }

        var listed: [DeviceKey] = []
        while case let page = try await registry.keys(after: listed.last?.id, limit: limit), !page.isEmpty {
            #expect(page.count <= limit)
            listed += page
        }
        #expect(listed == order.map { .sample($0) })
        #expect(try await registry.keys(after: .sample(0x80), limit: 1) == [.sample(0xFF)])
        #expect(try await registry.keys(after: .sample(0xFF), limit: 1).isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: RegistryKind.allCases, [0, -1, Int.min])
    func `returns nothing for a page of no keys`(kind: RegistryKind, limit: Int) async throws {
        let (registry, owner) = try await kind.make()
        _ = try await registry.enrol(.sample())
        #expect(try await registry.keys(after: nil, limit: limit).isEmpty)
        withExtendedLifetime(owner) {}
    }
}
