import KeyStore
import KeyStoreTestKit
import Testing

/// The contract of every store of accounts.
@Suite("A store of accounts")
struct AccountContractTests {
    @Test(arguments: AccountStoreKind.allCases)
    func `makes an account with its first passkey`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        let account = Account.sample(1)
        #expect(try await store.begin(account, maximum: 10) == .begun)
        #expect(try await store.account(account.id) == account)
        #expect(try await store.standing(ofAccount: account.id) == account.standing)
        #expect(try await store.passkey(.sample(1)) == FoundPasskey(account.passkeys[0], of: account.standing))
        #expect(try await store.account(.sample(2)) == nil)
        #expect(try await store.standing(ofAccount: .sample(2)) == nil)
        #expect(try await store.passkey(.sample(2)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `keeps what an account ends with`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        let longest = [UInt8](repeating: 0x7B, count: AccountOrigin.maximumProofBytes)
        let origin = try #require(AccountOrigin(.certificate, proof: longest))
        _ = try await store.begin(.sample(1, origin: origin), maximum: 10)
        #expect(try await store.account(.sample(1))?.origin == origin)
        #expect(try await store.standing(ofAccount: .sample(1))?.origin == origin)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `gives a passkey to one account only`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        #expect(try await store.begin(.sample(2, passkey: .sample(1)), maximum: 10) == .passkeyTaken)
        #expect(try await store.account(.sample(2)) == nil)
        _ = try await store.begin(.sample(2), maximum: 10)
        #expect(try await store.add(.sample(1), to: .sample(2)) == .taken)
        #expect(try await store.add(.sample(1), to: .sample(1)) == .taken)
        #expect(try await store.account(.sample(2))?.passkeys.map(\.mark) == [.sample(2)])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `makes no account twice`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        let before = try await store.account(.sample(1))
        #expect(try await store.begin(.sample(1, passkey: .sample(2), origin: .ticket), maximum: 10) == .accountTaken)
        #expect(try await store.account(.sample(1)) == before)
        #expect(try await store.passkey(.sample(2)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `has a maximum of accounts`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        for byte in [1, 2] as [UInt8] { #expect(try await store.begin(.sample(byte), maximum: 2) == .begun) }
        #expect(try await store.begin(.sample(3), maximum: 2) == .full)
        #expect(try await store.begin(.sample(3, passkey: .sample(1)), maximum: 2) == .passkeyTaken)
        #expect(try await store.forget(.sample(1), at: 5))
        #expect(try await store.begin(.sample(3), maximum: 2) == .begun)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `has a maximum of passkeys`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        for number in 2...AccountLimits.maximumPasskeys {
            #expect(try await store.add(.sample(number), to: .sample(1)) == .added)
        }
        #expect(try await store.add(.sample(99), to: .sample(1)) == .tooMany)
        let marks = try await store.account(.sample(1))?.passkeys.map(\.mark)
        #expect(marks == (1...AccountLimits.maximumPasskeys).map { .sample($0) })
        #expect(try await store.remove(.sample(4), of: .sample(1), at: 5))
        #expect(try await store.add(.sample(99), to: .sample(1)) == .added)
        #expect(try await store.add(.sample(50), to: .sample(2)) == .unknownAccount)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `has a maximum of devices, each of one account`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        for byte in [1, 2] as [UInt8] { _ = try await store.begin(.sample(byte), maximum: 10) }
        try await store.enrol(devices: 1...99)
        for byte in 1...UInt8(AccountLimits.maximumDevices) {
            #expect(try await store.join(.sample(byte), to: .sample(1)) == .joined)
        }
        #expect(try await store.join(.sample(99), to: .sample(1)) == .tooMany)
        #expect(try await store.join(.sample(3), to: .sample(2)) == .taken)
        #expect(try await store.account(ofDevice: .sample(3)) == .sample(1))
        #expect(try await store.account(ofDevice: .sample(99)) == nil)
        // It keeps its time.
        let again = AccountDevice(key: .sample(3), label: "old tablet", joinedAt: 77)
        #expect(try await store.join(again, to: .sample(1)) == .alreadyJoined)
        let devices = try await store.account(.sample(1))?.devices
        #expect(devices?.map(\.key) == (1...UInt8(AccountLimits.maximumDevices)).map { .sample($0) })
        #expect(devices?[2] == AccountDevice(key: .sample(3), label: "old tablet", joinedAt: 3))
        #expect(try await !store.remove(device: .sample(3), of: .sample(2), at: 5))
        #expect(try await store.remove(device: .sample(3), of: .sample(1), at: 5))
        #expect(try await store.join(.sample(3), to: .sample(2)) == .joined)
        #expect(try await store.join(.sample(98), to: .sample(9)) == .unknownAccount)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `records the use of a passkey, whose counter must rise`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1, passkey: .sample(1, signCount: 0)), maximum: 10)
        #expect(try await store.use(.sample(1, isBackedUp: true, time: 2_000), spending: nil) == .used)
        #expect(try await store.use(.sample(1, signCount: 0, time: 2_001), spending: nil) == .used)
        #expect(try await store.use(.sample(1, signCount: 7, time: 2_002), spending: nil) == .used)
        for count in [0, 6, 7] as [UInt32] {
            let outcome = try await store.use(.sample(1, signCount: count, time: 9_000), spending: nil)
            #expect(outcome == .notHigher(stored: 7))
        }
        #expect(try await store.use(.sample(1, signCount: .max, isBackedUp: true, time: 2_003), spending: nil) == .used)
        #expect(try await store.use(.sample(2), spending: nil) == .unknown)
        let account = try #require(try await store.account(.sample(1)))
        #expect(account.lastUsedAt == 2_003 && account.passkeys[0].lastUsedAt == 2_003)
        #expect(account.passkeys[0].signCount == .max && account.passkeys[0].isBackedUp)
        #expect(account.passkeys[0].isUserVerified && account.passkeys[0].isBackupEligible)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `signs nobody in with a passkey that was removed`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        for byte in [1, 2] as [UInt8] { _ = try await store.begin(.sample(byte), maximum: 10) }
        _ = try await store.add(.sample(11), to: .sample(1))
        #expect(try await !store.remove(.sample(11), of: .sample(2), at: 5))
        #expect(try await store.remove(.sample(11), of: .sample(1), at: 5))
        #expect(try await !store.remove(.sample(11), of: .sample(1), at: 6))
        #expect(try await store.use(.sample(11), spending: nil) == .unknown)
        #expect(try await store.standing(ofAccount: .sample(1))?.passkeys == [.sample(1)])
        #expect(try await store.use(.sample(1), spending: nil) == .used)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `changes nothing of a closed account`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        #expect(try await store.close(.sample(1), at: 3_000))
        #expect(try await store.close(.sample(1), at: 4_000))
        #expect(try await !store.close(.sample(2), at: 3_000))
        #expect(try await store.use(.sample(1), spending: nil) == .closed)
        #expect(try await store.add(.sample(2), to: .sample(1)) == .closed)
        #expect(try await store.join(.sample(2), to: .sample(1)) == .closed)
        let account = try #require(try await store.account(.sample(1)))
        #expect(account.closedAt == 3_000 && account.lastUsedAt == nil && account.standing.isClosed)
        #expect(try await store.begin(.sample(2, passkey: .sample(1)), maximum: 10) == .passkeyTaken)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `forgets an account with all that it has`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1), maximum: 10)
        try await store.enrol(devices: [5])
        _ = try await store.join(.sample(5), to: .sample(1))
        #expect(try await store.forget(.sample(1), at: 3_000))
        #expect(try await !store.forget(.sample(1), at: 3_000))
        #expect(try await store.account(.sample(1)) == nil)
        #expect(try await store.passkey(.sample(1)) == nil)
        #expect(try await store.account(ofDevice: .sample(5)) == nil)
        #expect(try await store.begin(.sample(1), maximum: 10) == .begun)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `lists accounts in pages`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        for byte in [9, 1, 5] as [UInt8] { _ = try await store.begin(.sample(byte), maximum: 10) }
        try await store.enrol(devices: [5])
        _ = try await store.join(.sample(5), to: .sample(1))
        let first = try await store.accounts(after: nil, limit: 2)
        #expect(first.map(\.id) == [.sample(1), .sample(5)])
        #expect(first.map(\.devices.count) == [1, 0] && first.map(\.passkeys.count) == [1, 1])
        #expect(try await store.accounts(after: .sample(5), limit: 2).map(\.id) == [.sample(9)])
        #expect(try await store.accounts(after: .sample(9), limit: 2) == [])
        #expect(try await store.accounts(after: nil, limit: 0) == [])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: AccountStoreKind.allCases)
    func `removes open accounts that nobody ever came back to, and no other`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.begin(.sample(1, origin: .open, madeAt: 99), maximum: 10)
        _ = try await store.begin(.sample(2, origin: .open, madeAt: 100), maximum: 10)
        _ = try await store.begin(.sample(3, origin: .open, madeAt: 50), maximum: 10)
        _ = try await store.begin(.sample(4, origin: .open, madeAt: 50), maximum: 10)
        let certificate = try #require(AccountOrigin(.certificate, proof: [1]))
        let development = try #require(AccountOrigin(.development, proof: [2]))
        for (byte, origin) in zip(5..., [.device, .ticket, certificate, development]) {
            _ = try await store.begin(.sample(UInt8(byte), origin: origin, madeAt: 50), maximum: 10)
        }
        _ = try await store.use(.sample(3, time: 60), spending: nil)
        #expect(try await store.close(.sample(4), at: 60))
        let others = try await store.accounts(after: .sample(1), limit: 9)
        #expect(others.map(\.id) == (2...8 as ClosedRange<UInt8>).map { .sample($0) })
        #expect(try await store.expireAccounts(madeBefore: 100, at: 5_000) == 1)
        #expect(try await store.accounts(after: nil, limit: 9) == others)
        #expect(try await store.expireAccounts(madeBefore: 100, at: 5_000) == 0)
        // Whoever kept a passkey for later gets in.
        #expect(try await store.use(.sample(5, time: 6_000), spending: nil) == .used)
        withExtendedLifetime(owner) {}
    }
}
