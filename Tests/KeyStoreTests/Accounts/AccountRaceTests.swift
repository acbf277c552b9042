import KeyStore
import KeyStoreTestKit
import Testing

/// Changes of accounts at the same moment: exactly one of them takes what there is once.
@Suite("Concurrent changes of accounts")
struct AccountRaceTests {
    private func race<Outcome: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: Outcome.self) { group in
            for racer in 0..<count { group.addTask { try await body(racer) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `one of many accounts begins with a credential`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        let outcomes = try await race(8) { racer in
            try await store.begin(.sample(UInt8(racer + 1), passkey: .sample(1)), maximum: 100)
        }
        #expect(outcomes.count { $0 == .begun } == 1)
        #expect(outcomes.allSatisfy { $0 == .begun || $0 == .passkeyTaken })
        #expect(try await store.accounts(after: nil, limit: 50).count == 1)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `one of many accounts gets a further credential`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        for byte in 1...UInt8(6) { _ = try await store.begin(.sample(byte), maximum: 100) }
        let outcomes = try await race(6) { try await store.add(.sample(77), to: .sample(UInt8($0 + 1))) }
        #expect(outcomes.count { $0 == .added } == 1 && outcomes.count { $0 == .taken } == 5)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `the last account has one maker`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        let outcomes = try await race(8) { try await store.begin(.sample(UInt8($0 + 1)), maximum: 3) }
        #expect(outcomes.count { $0 == .begun } == 3 && outcomes.count { $0 == .full } == 5)
        #expect(try await store.accounts(after: nil, limit: 50).count == 3)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `the last place of a device has one taker`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        try await store.enrol(devices: 1...106)
        for byte in 1..<UInt8(AccountLimits.maximumDevices) {
            #expect(try await store.join(.sample(byte), to: .sample(1)) == .joined)
        }
        let outcomes = try await race(6) { try await store.join(.sample(UInt8(100 + $0)), to: .sample(1)) }
        #expect(outcomes.count { $0 == .joined } == 1 && outcomes.count { $0 == .tooMany } == 5)
        #expect(try await store.account(.sample(1))?.devices.count == AccountLimits.maximumDevices)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `one of many uses has a counter`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        let outcomes = try await race(8) { _ in try await store.use(.sample(1, signCount: 5), spending: nil) }
        #expect(outcomes.count { $0 == .used } == 1 && outcomes.count { $0 == .notHigher(stored: 5) } == 7)
        withExtendedLifetime(owner) {}
    }

    /// Whoever is told of the removal signs nobody in any more.
    @Test(arguments: AccountStoreKind.allCases)
    func `no sign-in follows a removal`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        let outcomes = try await race(9) { racer -> PasskeySpending? in
            guard racer == 4 else { return try await store.use(.sample(1), spending: nil) }
            #expect(try await store.remove(.sample(1), of: .sample(1), at: 5))
            #expect(try await store.use(.sample(1), spending: nil) == .unknown)
            return nil
        }
        #expect(outcomes.allSatisfy { $0 == nil || $0 == .used || $0 == .unknown })
        #expect(try await store.standing(ofAccount: .sample(1))?.passkeys == [])
        withExtendedLifetime(owner) {}
    }
}
