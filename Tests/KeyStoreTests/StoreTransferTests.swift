import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
import Testing

/// Copies between a SQLite file and a fleet's store.
@Suite("Copying a store")
struct StoreTransferTests {
    private let directory: TemporaryDirectory
    private let sqlite: SQLiteKeyDatabase
    private let fleet: FleetDatabase
    private let sealing: SealedSecrets

    init() async throws {
        directory = try TemporaryDirectory()
        sqlite = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: .patient)
        fleet = try await FleetDatabase()
        sealing = try #require(SealedSecrets(keys: [FleetDatabase.secretKey]))
    }

    private func transfer(reading: Bool) throws -> PostgreSQLTransfer {
        try PostgreSQLTransfer(fleet.session(), sealing: sealing, reading: reading)
    }

    private func key(_ number: Int, counter: UInt32 = 0) -> DeviceKey {
        var key = DeviceKey.sample(UInt8(number & 0xFF), counter: counter)
        let bytes = [UInt8(number >> 8), UInt8(number & 0xFF)] + [UInt8](repeating: 7, count: 30)
        key = DeviceKey(
            id: KeyID(bytes: bytes) ?? key.id, publicKeyX963: key.publicKeyX963, app: "TEAM.žluť\(number)",
            environment: key.environment, trustRoot: key.trustRoot, counter: counter, receipt: [UInt8(number & 0xFF)],
            validationCategory: number % 2 == 0 ? nil : 4, bundleVersion: number % 3 == 0 ? nil : "1.\(number)",
            registeredAt: Int64(1_000 + number), lastUsedAt: number % 5 == 0 ? nil : Int64(2_000 + number),
            revokedAt: number % 7 == 0 ? 3_000 : nil, revocationReason: number % 7 == 0 ? "lost \(number)" : nil)
        return key
    }

    private func fill(_ store: some TransferableStore, keys: Int) throws {
        let all = (0..<keys).map { key($0, counter: UInt32($0)) }
        for start in stride(from: 0, to: keys, by: StoreTransfer.batch) {
            try store.complete(keys: Array(all[start..<min(keys, start + StoreTransfer.batch)]))
        }
        for byte in UInt8(1)...3 {
            let token = DevelopmentToken.sample(byte, devices: 5, routes: byte == 1 ? ["a", "b"] : nil)
            var stored = DevelopmentToken(
                hash: token.hash, name: token.name, routes: token.routes, maximumDevices: 5, issuedAt: token.issuedAt,
                expiresAt: token.expiresAt, lastUsedAt: 1_500, devices: Int(byte))
            if byte == 2 { stored.revokedAt = 1_700 }
            let places = (1...byte).map {
                TransferredToken.Place(device: [UInt8](repeating: $0, count: 32), firstUsedAt: 1_100, lastUsedAt: 1_500)
            }
            try store.complete(token: TransferredToken(token: stored, places: places))
        }
        try store.complete(
            signingKeys: StoredSigningKeys(
                keys: [StoredSigningKey(id: "k1", secret: [1, 2], publishedAt: 1, signsFrom: 2)],
                revoked: [.init(id: "k0", revokedAt: 5)]))
        try store.complete(secret: NamedSecret(name: "nonces", value: [9, 9]))
    }

    private func expectEqual(_ left: some TransferableStore, _ right: some TransferableStore) throws {
        #expect(try left.transferableTokens() == right.transferableTokens())
        #expect(try left.transferableSigningKeys() == right.transferableSigningKeys())
        #expect(try left.transferableSecrets() == right.transferableSecrets())
        #expect(try left.transferableSecrets().map(\.value) == [[9, 9]])
        #expect(try keys(of: left) == keys(of: right))
    }

    private func keys(of store: some TransferableStore) throws -> [DeviceKey] {
        var all: [DeviceKey] = []
        while case let page = try store.transferableKeys(after: all.last?.id, limit: 400), !page.isEmpty { all += page }
        return all
    }

    @Test func `loses nothing on the way into a fleet and back`() async throws {
        try fill(sqlite, keys: 1_203)
        var transfer = StoreTransfer()
        var steps: [Int] = []
        try transfer.copy(from: sqlite, to: self.transfer(reading: false)) { steps.append($0) }
        #expect(steps == [500, 1_000, 1_203])
        #expect(transfer.keys == 1_203 && transfer.revokedKeys == 172 && transfer.tokens == 3)
        try expectEqual(sqlite, try self.transfer(reading: true))
        #expect(try await fleet.registry.key(key(8).id) == key(8, counter: 8))
        #expect(try await fleet.registry.enrol(key(7)) == .revoked)
        #expect(try fleet.registry.signingKeys() == sqlite.signingKeys())
        #expect(try fleet.registry.secret(named: "nonces", creating: [1]) == [9, 9])
        let back = try SQLiteKeyDatabase(path: directory.file("back.sqlite"), limits: .patient)
        try transfer.copy(from: self.transfer(reading: true), to: back) { _ in }
        try expectEqual(sqlite, back)
        #expect(SQLiteStoreCheck(path: directory.file("back.sqlite")).isGood)
        // Once more, which changes nothing.
        try transfer.copy(from: back, to: self.transfer(reading: false)) { _ in }
        try expectEqual(sqlite, try self.transfer(reading: true))
    }

    enum Direction: CaseIterable { case intoFleet, intoFile }

    @Test(arguments: Direction.allCases)
    func `lowers no counter and lifts no revocation`(direction: Direction) throws {
        func copy(_ source: DeviceKey, onto known: DeviceKey) throws -> DeviceKey? {
            switch direction {
            case .intoFleet:
                try transfer(reading: false).complete(keys: [known])
                try transfer(reading: false).complete(keys: [source])
                return try transfer(reading: true).transferableKeys(after: nil, limit: 1).first
            case .intoFile:
                try sqlite.complete(keys: [known])
                try sqlite.complete(keys: [source])
                return try sqlite.keys(after: nil, limit: 1).first
            }
        }
        var known = key(1, counter: 9)
        var source = key(1, counter: 4)
        source.app = "TEAM.other"
        source.lastUsedAt = 9_000
        source.registeredAt = 5
        source.revokedAt = 77
        source.revocationReason = "stolen"
        var expected = known
        (expected.lastUsedAt, expected.registeredAt) = (9_000, 5)
        (expected.revokedAt, expected.revocationReason) = (77, "stolen")
        #expect(known.completed(by: source) == expected)
        #expect(try copy(source, onto: known) == expected)
        // The other way round: the newer record isn't revoked.
        known = expected
        source = key(1, counter: 12)
        expected.counter = 12
        #expect(known.completed(by: source) == expected)
        #expect(try copy(source, onto: known) == expected)
    }

    @Test(arguments: Direction.allCases)
    func `brings nothing of an erased key back`(direction: Direction) async throws {
        let id = key(3).id
        switch direction {
        case .intoFleet:
            _ = try await fleet.registry.enrol(key(3))
            _ = try await fleet.registry.revoke(id, reason: "lost", at: 6)
            _ = try await fleet.registry.finishErasure(of: id)
            let erased = try await fleet.registry.key(id)
            try transfer(reading: false).complete(keys: [key(3, counter: 5)])
            #expect(try await fleet.registry.key(id) == erased)
            #expect(erased?.isErased == true)
        case .intoFile:
            _ = try sqlite.enrol(key(3))
            _ = try sqlite.revoke(id, reason: "lost", at: 6)
            _ = try sqlite.finishErasure(of: id)
            let erased = try sqlite.key(id)
            try sqlite.complete(keys: [key(3, counter: 5)])
            #expect(try sqlite.key(id) == erased)
        }
    }

    @Test func `tells a running fleet of revocations`() async throws {
        let feed = PostgreSQLRevocations(of: fleet.registry)
        _ = try await feed.ifChanged()
        try fill(sqlite, keys: 30)
        var transfer = StoreTransfer()
        try transfer.copy(from: sqlite, to: self.transfer(reading: false)) { _ in }
        let changed = try #require(try await feed.ifChanged())
        #expect(changed.keys == Set([0, 7, 14, 21, 28].map { key($0).id }))
        #expect(changed.grants == [DevelopmentToken.sample(2).grant.id])
        #expect(changed.signingKeys == (try sqlite.signingKeys()))
    }

    @Test func `unites signing keys, of which revoked ones stay revoked`() throws {
        let stored = StoredSigningKey(id: "a", secret: [1], publishedAt: 1, signsFrom: 1)
        let other = StoredSigningKey(id: "b", secret: [2], publishedAt: 2, signsFrom: 2)
        let one = StoredSigningKeys(keys: [stored], revoked: [.init(id: "x", revokedAt: 1)])
        let two = StoredSigningKeys(keys: [other], revoked: [.init(id: "a", revokedAt: 9)])
        let united = StoredSigningKeys(
            keys: [other], revoked: [.init(id: "x", revokedAt: 1), .init(id: "a", revokedAt: 9)])
        #expect(one.completed(by: two) == united)
        #expect(two.completed(by: one) == united)
    }
}
