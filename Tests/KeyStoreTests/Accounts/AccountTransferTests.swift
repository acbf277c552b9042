import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
import Testing

/// Accounts between a SQLite file and a fleet's store.
@Suite("Copying a store's accounts")
struct AccountTransferTests {
    private let directory: TemporaryDirectory
    private let sqlite: SQLiteKeyDatabase
    private let store: SQLiteKeyRegistry
    private let fleet: FleetDatabase
    private let sealing: SealedSecrets

    init() async throws {
        directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        store = try SQLiteKeyRegistry(path: path, limits: .patient)
        sqlite = try SQLiteKeyDatabase(path: path, limits: .patient)
        fleet = try await FleetDatabase()
        sealing = try #require(SealedSecrets(keys: [FleetDatabase.secretKey]))
    }

    private func transfer(reading: Bool) throws -> PostgreSQLTransfer {
        try PostgreSQLTransfer(fleet.session(), sealing: sealing, reading: reading)
    }

    private func copy(from source: some ReadableStore, to target: some TransferableStore) throws -> Int {
        var transfer = StoreTransfer()
        try transfer.copy(from: source, to: target) { _ in }
        return transfer.accounts
    }

    private func accounts(of store: some ReadableStore) throws -> [Account] {
        var all: [Account] = []
        while case let page = try store.transferableAccounts(after: all.last?.id, limit: 50), !page.isEmpty {
            all += page
        }
        return all
    }

    private func fill(_ count: Int) async throws {
        for number in 0..<count {
            let id = try #require(AccountID(bytes: [UInt8(number >> 8), UInt8(number & 0xFF)] + Array(1...14)))
            let account = Account(
                id: id, origin: number % 3 == 0 ? .open : .device, madeAt: Int64(1_000 + number),
                passkeys: [.sample(number + 1, signCount: UInt32(number), label: "žluť")])
            #expect(try await store.begin(account, maximum: 1_000) == .begun)
        }
        _ = try await store.enrol(.sample(1))
        let first = try #require(AccountID(bytes: [0, 0] + Array(1...14)))
        _ = try await store.add(.sample(900), to: first)
        _ = try await store.join(.sample(1), to: first)
        _ = try await store.use(.sample(1, signCount: 77, isBackedUp: true), spending: nil)
        _ = try await store.close(try #require(AccountID(bytes: [0, 1] + Array(1...14))), at: 9_000)
    }

    @Test func `loses nothing on the way into a fleet and back`() async throws {
        try await fill(120)
        let all = try accounts(of: sqlite)
        #expect(all.count == 120 && all[0].passkeys.count == 2 && all[0].devices.count == 1 && all[1].isClosed)
        #expect(try copy(from: sqlite, to: transfer(reading: false)) == 120)
        #expect(try accounts(of: transfer(reading: true)) == all)
        let back = try SQLiteKeyDatabase(path: directory.file("back.sqlite"), limits: .patient)
        #expect(try copy(from: transfer(reading: true), to: back) == 120)
        #expect(try accounts(of: back) == all)
        // Once more, which changes nothing.
        #expect(try copy(from: back, to: transfer(reading: false)) == 120)
        #expect(try accounts(of: transfer(reading: true)) == all)
        let reader = try SQLiteStoreReader(path: directory.file("back.sqlite"))
        #expect(try accounts(of: reader) == all)
    }

    @Test func `removes what was removed, and brings nothing of it back`() async throws {
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 9) }
        _ = try await store.add(.sample(11), to: .sample(1))
        _ = try copy(from: sqlite, to: transfer(reading: false))
        // Here, and then there.
        #expect(try await store.remove(.sample(11), of: .sample(1), at: 5))
        #expect(try await store.forget(.sample(2), at: 6))
        #expect(try copy(from: sqlite, to: transfer(reading: false)) == 2)
        #expect(try await fleet.registry.account(.sample(2)) == nil)
        #expect(try await fleet.registry.passkey(.sample(11)) == nil)
        // There, and not here.
        #expect(try await fleet.registry.forget(.sample(3), at: 7))
        _ = try copy(from: sqlite, to: transfer(reading: false))
        #expect(try await fleet.registry.account(.sample(3)) == nil)
        _ = try copy(from: transfer(reading: true), to: sqlite)
        #expect(try await store.account(.sample(3)) == nil)
        #expect(try await store.account(.sample(1)) != nil)
    }

    @Test func `leaves to an account there what another one has here`() async throws {
        for byte in 1...UInt8(2) {
            _ = try await store.enrol(.sample(byte))
            _ = try await store.begin(.sample(byte), maximum: 9)
            _ = try await store.join(.sample(byte), to: .sample(byte))
        }
        _ = try await fleet.registry.enrol(.sample(1))
        _ = try await fleet.registry.begin(.sample(9, passkey: .sample(1)), maximum: 9)
        _ = try await fleet.registry.join(.sample(1), to: .sample(9))
        _ = try copy(from: sqlite, to: transfer(reading: false))
        #expect(try await fleet.registry.account(.sample(9))?.passkeys.map(\.mark) == [.sample(1)])
        let first = try #require(try await fleet.registry.account(.sample(1)))
        #expect(first.passkeys.isEmpty && first.devices.isEmpty)
        #expect(try await fleet.registry.account(.sample(2))?.devices.map(\.key) == [.sample(2)])
    }

    @Test func `doesn't join a device whose key is erased`() async throws {
        _ = try await store.enrol(.sample(1))
        _ = try await store.begin(.sample(1), maximum: 9)
        _ = try await store.join(.sample(1), to: .sample(1))
        _ = try await fleet.registry.enrol(.sample(1))
        _ = try await fleet.registry.revoke(.sample(1), reason: "lost", at: 6)
        _ = try await fleet.registry.finishErasure(of: .sample(1))
        _ = try copy(from: sqlite, to: transfer(reading: false))
        #expect(try await fleet.registry.account(.sample(1))?.devices == [])
    }

    @Test func `tells a running fleet of the ends of accounts`() async throws {
        for byte in 1...UInt8(3) { _ = try await store.begin(.sample(byte), maximum: 9) }
        _ = try copy(from: sqlite, to: transfer(reading: false))
        let feed = PostgreSQLRevocations(of: fleet.registry)
        _ = try await feed.ifChanged()
        _ = try await store.close(.sample(1), at: 5)
        _ = try await store.forget(.sample(2), at: 5)
        _ = try await store.remove(.sample(3), of: .sample(3), at: 5)
        _ = try copy(from: sqlite, to: transfer(reading: false))
        let changed = try #require(try await feed.ifChanged())
        #expect(changed.accounts == [.sample(1), .sample(2)] && changed.passkeys == [.sample(3)])
    }

    // MARK: The rule

    @Test func `lowers no counter, and opens no closed account`() {
        var (one, two) = (Account.sample(1, passkey: .sample(1, signCount: 9)), Account.sample(1))
        two.passkeys[0].signCount = 4
        (two.passkeys[0].lastUsedAt, two.passkeys[0].isBackedUp) = (50, true)
        (one.closedAt, two.closedAt, two.lastUsedAt) = (30, 20, 50)
        let united = one.completed(by: two)
        #expect(united.passkeys[0].signCount == 9 && united.passkeys[0].isBackedUp)
        #expect(united.passkeys[0].lastUsedAt == 50 && united.lastUsedAt == 50 && united.closedAt == 20)
        #expect(one.completed(by: one) == one && united.completed(by: two) == united)
        one.closedAt = nil
        two.closedAt = nil
        #expect(one.completed(by: two).closedAt == nil)
    }

    @Test func `keeps the limits of an account`() {
        var (one, two) = (Account.sample(1), Account.sample(1))
        one.passkeys = (1...8).map { .sample($0) }
        two.passkeys = (7...12).map { .sample($0) }
        one.devices = (1...15).map { .sample($0) }
        two.devices = (20...24).map { .sample($0) }
        let united = one.completed(by: two)
        #expect(united.passkeys.map(\.mark) == ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).map { .sample($0) })
        #expect(united.devices.count == AccountLimits.maximumDevices && united.devices.last?.key == .sample(20))
        let some = two.without([.sample(9)], keeping: [.sample(21)])
        #expect(!some.passkeys.map(\.mark).contains(.sample(9)) && some.devices.map(\.key) == [.sample(21)])
    }
}
