import Foundation
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import Testing

/// What other processes hear of accounts that were closed or removed, and of removed passkeys.
@Suite("The end of an account")
struct AccountEndTests {
    private struct Place {
        let store: any AccountStore & KeyRegistry
        let changes: any RevocationSource
        let owner: AnyObject
    }

    /// - Parameter kind: one of which other processes hear.
    private func place(_ kind: AccountStoreKind) async throws -> Place {
        switch kind {
        case .memory: throw CancellationError()
        case .sqlite:
            let directory = try TemporaryDirectory()
            let store = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient)
            return Place(store: store, changes: try SQLiteRevocations(of: store), owner: directory)
        case .postgresql:
            let database = try await FleetDatabase()
            let changes = PostgreSQLRevocations(of: try database.anotherRegistry())
            return Place(store: database.registry, changes: changes, owner: database)
        }
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `is told to all, and that of a passkey`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let (store, changes) = (place.store, place.changes)
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 10) }
        _ = try await store.add(.sample(11), to: .sample(1))
        _ = try await changes.ifChanged()
        #expect(try await store.close(.sample(2), at: .now))
        #expect(try await changes.ifChanged()?.accounts == [.sample(2)])
        #expect(try await store.forget(.sample(3), at: .now))
        #expect(try await changes.ifChanged()?.accounts == [.sample(2), .sample(3)])
        #expect(try await store.remove(.sample(11), of: .sample(1), at: .now))
        let last = try #require(try await changes.ifChanged())
        #expect(last.passkeys == [.sample(11)] && last.accounts == [.sample(2), .sample(3)])
        #expect(try await changes.ifChanged() == nil)
        withExtendedLifetime(place.owner) {}
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `is forgotten after 30 days, unless the account is there`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let store = place.store
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 10) }
        let time = Int64.now
        _ = try await store.close(.sample(1), at: time)
        _ = try await store.forget(.sample(2), at: time)
        _ = try await store.remove(.sample(3), of: .sample(3), at: time + 1)
        _ = try await store.expireAccounts(madeBefore: 0, at: time + AccountLimits.endKeptMilliseconds + 1)
        let left = try #require(try await place.changes.ifChanged())
        #expect(left.accounts == [.sample(1)] && left.passkeys == [.sample(3)])
        withExtendedLifetime(place.owner) {}
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `is remembered by gateways for an hour`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let (store, time) = (place.store, Int64.now - AccountLimits.endRememberedMilliseconds)
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 10) }
        _ = try await store.close(.sample(1), at: time - 1)
        _ = try await store.remove(.sample(2), of: .sample(2), at: time - 1)
        _ = try await store.forget(.sample(3), at: time + 60_000)
        let found = try #require(try await place.changes.ifChanged())
        #expect(found.accounts == [.sample(3)] && found.passkeys.isEmpty)
        // Told again, whoever asks for it hears of it.
        _ = try await store.close(.sample(1), at: .now)
        #expect(try await place.changes.ifChanged()?.accounts == [.sample(1), .sample(3)])
        withExtendedLifetime(place.owner) {}
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `is that of a device's sessions as well, until it joins again`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let (store, changes) = (place.store, place.changes)
        for byte in 1...UInt8(2) { _ = try await store.begin(.sample(byte), maximum: 10) }
        try await store.enrol(devices: 1...2)
        for byte in 1...UInt8(2) { _ = try await store.join(.sample(byte), to: .sample(1)) }
        _ = try await changes.ifChanged()
        for byte in 1...UInt8(2) {
            #expect(try await store.remove(device: .sample(byte), of: .sample(1), at: .now))
        }
        let gone = (1...UInt8(2)).map { DeviceDeparture(of: .sample($0), from: .sample(1)) }
        #expect(try await changes.ifChanged()?.departures == Set(gone))
        #expect(try await store.join(.sample(1), to: .sample(2)) == .joined)
        #expect(try await store.join(.sample(2), to: .sample(1)) == .joined)
        #expect(try await changes.ifChanged()?.departures == [gone[0]])
        #expect(try await store.remove(device: .sample(2), of: .sample(1), at: .now))
        #expect(try await changes.ifChanged()?.departures == Set(gone))
        withExtendedLifetime(place.owner) {}
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `leaves no device of a key that is gone or revoked`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let store = place.store
        _ = try await store.begin(.sample(1), maximum: 10)
        try await store.enrol(devices: 1...3)
        #expect(try await store.forget(.sample(1)) == .forgotten)
        _ = try await store.revoke(.sample(2), reason: "lost", at: 5)
        _ = try await store.revoke(.sample(3), reason: "lost", at: 5)
        let maintenance = try #require(store as? any KeyMaintenance)
        #expect(try await maintenance.finishErasure(of: .sample(3)).key == .reducedToRevocation)
        for byte in 1...UInt8(4) {
            #expect(try await store.join(.sample(byte), to: .sample(1)) == .unknownDevice)
        }
        #expect(try await store.account(.sample(1))?.devices == [])
        withExtendedLifetime(place.owner) {}
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `isn't that of a device, which leaves when its key is forgotten`(kind: AccountStoreKind) async throws {
        let place = try await place(kind)
        let store = place.store
        _ = try await store.begin(.sample(1), maximum: 10)
        for byte in 1...UInt8(3) {
            _ = try await store.enrol(.sample(byte))
            _ = try await store.join(.sample(byte), to: .sample(1))
        }
        #expect(try await store.forget(.sample(1)) == .forgotten)
        let maintenance = try #require(store as? any KeyMaintenance)
        _ = try await store.revoke(.sample(2), reason: "lost", at: 5)
        #expect(try await maintenance.finishErasure(of: .sample(2)).key == .reducedToRevocation)
        #expect(try await store.account(.sample(1))?.devices.map(\.key) == [.sample(3)])
        let pruned = try await maintenance.prune([.sample(3)], idleSince: .max)
        #expect(pruned.forgotten == [.sample(3)])
        #expect(try await store.account(.sample(1))?.devices == [])
        withExtendedLifetime(place.owner) {}
    }

    /// One gateway's challenge, spent with the sign-in in one step.
    @Test func `is no matter of a challenge that was used`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        let home = try await store.incarnation()
        _ = try await store.begin(.sample(1), maximum: 10)
        let mark = SingleUseMark.sample(1)
        #expect(try await store.use(.sample(1, time: 5), spending: (mark, home)) == .used)
        #expect(try await store.use(.sample(1, time: 6), spending: (mark, home)) == .refused(.alreadySpent))
        #expect(try await store.account(.sample(1))?.lastUsedAt == 5)
        let other = try #require(StoreIncarnation(bytes: [UInt8](repeating: 9, count: StoreIncarnation.length)))
        #expect(try await store.use(.sample(1, time: 7), spending: (.sample(2), other)) == .refused(.foreign))
        #expect(try await store.use(.sample(8, time: 7), spending: (.sample(3), home)) == .unknown)
        #expect(try await store.spend(.sample(3), in: home) == .alreadySpent)
    }
}

extension Int64 {
    /// Unix milliseconds.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
}
