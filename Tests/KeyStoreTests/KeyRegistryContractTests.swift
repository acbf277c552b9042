import KeyStore
import Testing

/// What every registry has to do; run once for each of them.
@Suite("A key registry")
struct KeyRegistryContractTests {
    @Test("returns what was enrolled", arguments: RegistryKind.allCases)
    func returnsWhatWasEnrolled(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        var plain = DeviceKey.sample(2)
        plain.validationCategory = nil
        plain.bundleVersion = nil
        plain.receipt = []
        for key in [DeviceKey.sample(1), plain] {
            #expect(try registry.key(key.id) == nil)
            #expect(try registry.enrol(key) == .enrolled)
            #expect(try registry.key(key.id) == key)
        }
        withExtendedLifetime(owner) {}
    }

    @Test("tells a key's standing as it is at this moment", arguments: RegistryKind.allCases)
    func standingIsNeverOld(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let key = DeviceKey.sample(counter: 3)
        func expectStanding(counter: UInt32, isRevoked: Bool = false, app: String = key.app) throws {
            let expected = KeyStanding(
                id: key.id, publicKeyX963: key.publicKeyX963, app: app, environment: key.environment,
                trustRoot: key.trustRoot, counter: counter, isRevoked: isRevoked)
            #expect(try registry.standing(of: key.id) == expected)
            #expect(try registry.key(key.id)?.standing == expected)
        }
        #expect(try registry.standing(of: key.id) == nil)
        _ = try registry.enrol(key)
        try expectStanding(counter: 3)
        _ = try registry.advanceCounter(of: key.id, to: .max - 1, at: 1)
        try expectStanding(counter: .max - 1)
        _ = try registry.revoke(key.id, reason: "lost", at: 2)
        try expectStanding(counter: .max - 1, isRevoked: true)
        _ = try registry.restore(key.id)
        var moved = key
        moved.app = ""
        _ = try registry.enrol(moved)
        try expectStanding(counter: .max - 1, app: "")
        _ = try registry.forget(key.id)
        #expect(try registry.standing(of: key.id) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("takes over a newer attestation and keeps the key's history", arguments: RegistryKind.allCases)
    func reenrolmentKeepsHistory(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let first = DeviceKey.sample()
        #expect(try registry.enrol(first) == .enrolled)
        #expect(try registry.advanceCounter(of: first.id, to: 8, at: 1000) == .advanced)

        var second = first
        second.app = "ABCDE12345.org.example.other"
        second.environment = "development"
        second.trustRoot = [UInt8](repeating: 8, count: 32)
        second.receipt = [1, 2, 3]
        second.validationCategory = nil
        second.bundleVersion = "2"
        second.registeredAt += 5000
        #expect(try registry.enrol(second) == .alreadyEnrolled)

        var expected = second
        expected.counter = 8
        expected.registeredAt = first.registeredAt
        expected.lastUsedAt = 1000
        #expect(try registry.key(first.id) == expected)
        withExtendedLifetime(owner) {}
    }

    @Test("never lowers a counter by enrolment, but raises it", arguments: RegistryKind.allCases)
    func reenrolmentNeverLowers(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        for (counter, expected) in [(5, 5), (4, 5), (0, 5), (6, 6)] as [(UInt32, UInt32)] {
            _ = try registry.enrol(.sample(counter: counter))
            #expect(try registry.key(.sample(1))?.counter == expected)
        }
        withExtendedLifetime(owner) {}
    }

    @Test("advances a counter only upwards, up to its last value", arguments: RegistryKind.allCases)
    func counterOnlyRises(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let id = DeviceKey.sample().id
        _ = try registry.enrol(.sample())
        #expect(try registry.advanceCounter(of: id, to: 0, at: 1) == .notHigher(stored: 0))
        #expect(try registry.advanceCounter(of: id, to: 1, at: 2) == .advanced)
        #expect(try registry.advanceCounter(of: id, to: 1, at: 3) == .notHigher(stored: 1))
        #expect(try registry.advanceCounter(of: id, to: .max - 1, at: 4) == .advanced)
        #expect(try registry.advanceCounter(of: id, to: .max, at: 5) == .advanced)
        #expect(try registry.advanceCounter(of: id, to: .max, at: 6) == .notHigher(stored: .max))
        #expect(try registry.advanceCounter(of: id, to: 0, at: 7) == .notHigher(stored: .max))
        #expect(try registry.key(id)?.counter == .max)
        #expect(try registry.key(id)?.lastUsedAt == 5)
        #expect(try registry.advanceCounter(of: .sample(9), to: 1, at: 8) == .unknownKey)
        #expect(try registry.key(.sample(9)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("lets exactly one of many racing threads advance to a counter", arguments: RegistryKind.allCases)
    func exactlyOneRacerWins(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let id = DeviceKey.sample().id
        _ = try registry.enrol(.sample())
        for counter in UInt32(1)...20 {
            let outcomes = onThreads(16) { try registry.advanceCounter(of: id, to: counter, at: Int64($0)) }
            let advances = try outcomes.map { try $0.get() }
            #expect(advances.count { $0 == .advanced } == 1)
            #expect(advances.count { $0 == .notHigher(stored: counter) } == 15)
        }
        withExtendedLifetime(owner) {}
    }

    @Test("ends at the highest counter of many racing threads", arguments: RegistryKind.allCases)
    func highestRacerStays(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let id = DeviceKey.sample().id
        _ = try registry.enrol(.sample())
        let outcomes = onThreads(32) { thread -> CounterAdvance in
            // Registrations of the same key run in between, and must not lower what was reached.
            if thread % 4 == 0 { _ = try registry.enrol(.sample()) }
            return try registry.advanceCounter(of: id, to: UInt32(thread + 1), at: 0)
        }
        for outcome in outcomes { _ = try outcome.get() }
        #expect(try registry.key(id)?.counter == 32)
        withExtendedLifetime(owner) {}
    }

    @Test("keeps a revoked key revoked, whatever is done but restoring it", arguments: RegistryKind.allCases)
    func revokedStaysRevoked(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let key = DeviceKey.sample(counter: 3)
        _ = try registry.enrol(key)
        #expect(try registry.revoke(key.id, reason: "lost", at: 50))
        var revoked = key
        revoked.revokedAt = 50
        revoked.revocationReason = "lost"

        var newer = DeviceKey.sample(counter: 90)
        newer.app = "ABCDE12345.org.example.other"
        #expect(try registry.enrol(newer) == .revoked)
        #expect(try registry.advanceCounter(of: key.id, to: 91, at: 60) == .revoked)
        #expect(try registry.forget(key.id) == .refusedRevoked)
        #expect(try registry.revoke(key.id, reason: "again", at: 70))
        #expect(try registry.key(key.id) == revoked)

        #expect(try registry.restore(key.id))
        #expect(try registry.key(key.id) == key)
        #expect(try registry.advanceCounter(of: key.id, to: 3, at: 80) == .notHigher(stored: 3))
        #expect(try registry.advanceCounter(of: key.id, to: 4, at: 81) == .advanced)
        withExtendedLifetime(owner) {}
    }

    @Test("forgets a key that isn't revoked, and takes it anew", arguments: RegistryKind.allCases)
    func forgets(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        let key = DeviceKey.sample(counter: 3)
        _ = try registry.enrol(key)
        _ = try registry.enrol(.sample(2))
        #expect(try registry.forget(key.id) == .forgotten)
        #expect(try registry.key(key.id) == nil)
        #expect(try registry.key(.sample(2)) == .sample(2))
        #expect(try registry.enrol(.sample()) == .enrolled)
        #expect(try registry.key(key.id)?.counter == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("says so when a key to administer is unknown", arguments: RegistryKind.allCases)
    func administersKnownKeysOnly(kind: RegistryKind) throws {
        let (registry, owner) = try kind.make()
        #expect(try !registry.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try !registry.restore(.sample(1)))
        #expect(try registry.forget(.sample(1)) == .unknown)
        #expect(try registry.keys(after: nil, limit: 10).isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test(
        "lists all keys in pages, in the order of their identifiers", arguments: RegistryKind.allCases,
        [1, 2, 3, 5, 6, 1000])
    func listsInPages(kind: RegistryKind, limit: Int) throws {
        let (registry, owner) = try kind.make()
        let order: [UInt8] = [0, 1, 0x7F, 0x80, 0xFF]
        for byte in order.reversed() { _ = try registry.enrol(.sample(byte)) }

        var listed: [DeviceKey] = []
        while case let page = try registry.keys(after: listed.last?.id, limit: limit), !page.isEmpty {
            #expect(page.count <= limit)
            listed += page
        }
        #expect(listed == order.map { .sample($0) })
        #expect(try registry.keys(after: .sample(0x80), limit: 1) == [.sample(0xFF)])
        #expect(try registry.keys(after: .sample(0xFF), limit: 1).isEmpty)
        withExtendedLifetime(owner) {}
    }

    @Test("has nothing on a page of no keys", arguments: RegistryKind.allCases, [0, -1, Int.min])
    func emptyPage(kind: RegistryKind, limit: Int) throws {
        let (registry, owner) = try kind.make()
        _ = try registry.enrol(.sample())
        #expect(try registry.keys(after: nil, limit: limit).isEmpty)
        withExtendedLifetime(owner) {}
    }
}
