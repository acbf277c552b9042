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
        #expect(try await store.close(.sample(2), at: 5))
        #expect(try await changes.ifChanged()?.accounts == [.sample(2)])
        #expect(try await store.forget(.sample(3), at: 6))
        #expect(try await changes.ifChanged()?.accounts == [.sample(2), .sample(3)])
        #expect(try await store.remove(.sample(11), of: .sample(1), at: 7))
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
        _ = try await store.close(.sample(1), at: 5)
        _ = try await store.forget(.sample(2), at: 5)
        _ = try await store.remove(.sample(3), of: .sample(3), at: 6)
        _ = try await store.expireAccounts(madeBefore: 0, at: AccountLimits.endKeptMilliseconds + 6)
        let left = try #require(try await place.changes.ifChanged())
        #expect(left.accounts == [.sample(1)] && left.passkeys == [.sample(3)])
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
