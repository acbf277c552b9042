import Foundation
import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("Keys that are forgotten or erased")
struct SQLiteErasureTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
    }

    /// A key whose identifier and content are found nowhere else.
    private func key(_ number: Int, lastUsedAt: Int64? = nil) throws -> DeviceKey {
        func bytes(_ seed: UInt64, _ count: Int) -> [UInt8] {
            var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 &+ seed
            return (0..<count).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
        }
        var key = DeviceKey.sample()
        key = DeviceKey(
            id: try #require(KeyID(bytes: bytes(1, 32))), publicKeyX963: bytes(2, 65), app: "TEAM.app\(number)x",
            environment: "production", trustRoot: key.trustRoot, counter: 7, receipt: bytes(3, 3_000),
            validationCategory: nil, bundleVersion: nil, registeredAt: 1_000, lastUsedAt: lastUsedAt)
        return key
    }

    private func traces(of key: DeviceKey, id: Bool = true) throws -> [String] {
        ["", "-wal"].flatMap { suffix -> [String] in
            guard let data = FileManager.default.contents(atPath: path + suffix) else { return [] }
            let pieces = [
                ("public key", key.publicKeyX963.prefix(16)), ("public key's end", key.publicKeyX963.suffix(16)),
                ("receipt", key.receipt.prefix(32)), ("receipt's end", key.receipt.suffix(32)),
                ("app", Array(key.app.utf8)[...]), ("id", id ? key.id.bytes[...] : []),
            ]
            return pieces.filter { !$0.1.isEmpty && data.range(of: Data($0.1)) != nil }.map { suffix + " " + $0.0 }
        }
    }

    @Test func `leave no byte in the files, whatever was stored before and after them`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let keys = try (0..<400).map { try key($0) }
        for (number, key) in keys.enumerated() {
            _ = try store.enrol(key)
            _ = try store.advanceCounter(of: keys[number / 2].id, to: UInt32(number + 100), at: 1_790_000_000_000)
        }
        let erased = stride(from: 0, to: 400, by: 7).map { keys[$0] }
        #expect(try traces(of: erased[0]).count >= 6)
        for key in erased {
            #expect(try store.beginErasure(of: key.id, at: 5))
            #expect(try store.finishErasure(of: key.id) == Erasure(key: .removed, places: 0))
        }
        #expect(try store.emptyLog())
        #expect(store.walBytes == 0)
        for key in erased {
            #expect(try traces(of: key) == [])
            #expect(try store.key(key.id) == nil)
        }
        #expect(try store.keys(after: nil, limit: 999).count == keys.count - erased.count)
        #expect(SQLiteStoreCheck(path: path).isGood)
    }

    @Test func `of which one was revoked stay refused, with nothing else about them`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let (revoked, other) = (try key(1), try key(2))
        for key in [revoked, other] { _ = try store.enrol(key) }
        _ = try store.revoke(revoked.id, reason: "stolen phone", at: 77)
        #expect(try !store.beginErasure(of: revoked.id, at: 99))
        for _ in 0..<2 {
            #expect(try store.finishErasure(of: revoked.id) == Erasure(key: .reducedToRevocation, places: 0))
        }
        #expect(try store.emptyLog())
        #expect(try traces(of: revoked, id: false) == [])
        #expect(FileManager.default.contents(atPath: path)?.range(of: Data("stolen phone".utf8)) == nil)
        let rest = try #require(try store.key(revoked.id))
        #expect(rest.isErased && rest.revokedAt == 77 && rest.revocationReason == DeviceKey.erasedReason)
        #expect(try store.enrol(revoked) == .revoked)
        #expect(try store.standing(of: revoked.id)?.isRevoked == true)
        #expect(try store.advanceCounter(of: revoked.id, to: 999, at: 1) == .revoked)
        #expect(try store.forget(revoked.id) == .refusedRevoked)
        #expect(try SQLiteRevocations(of: store).look()?.keys == [revoked.id])
        #expect(SQLiteStoreCheck(path: path).isGood)
        // Lifting the revocation makes the key unknown: nothing is left to be restored.
        #expect(try store.restore(revoked.id))
        #expect(try store.key(revoked.id) == nil)
        #expect(try store.enrol(revoked) == .enrolled)
    }

    @Test func `are revoked until gateways have noticed, also if the command ends in between`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let key = try key(1)
        _ = try store.enrol(key)
        #expect(try store.beginErasure(of: key.id, at: 5))
        #expect(try SQLiteRevocations(of: store).look()?.keys == [key.id])
        #expect(try store.enrol(key) == .revoked)
        // The same again.
        #expect(try store.beginErasure(of: key.id, at: 6))
        #expect(try store.finishErasure(of: key.id) == Erasure(key: .removed, places: 0))
        #expect(try store.enrol(key) == .enrolled)
    }

    @Test func `stay refused if they are revoked during their erasure`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let key = try key(1)
        _ = try store.enrol(key)
        #expect(try store.beginErasure(of: key.id, at: 5))
        #expect(try store.revoke(key.id, reason: "stolen", at: 6))
        #expect(try store.finishErasure(of: key.id) == Erasure(key: .reducedToRevocation, places: 0))
        #expect(try store.enrol(key) == .revoked)
    }

    @Test func `give up the places on development tokens of a device`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let token = DevelopmentToken.sample(devices: 1)
        _ = try store.issue(token)
        let (device, other) = (KeyID.sample(8), KeyID.sample(9))
        guard case .granted = try store.redeem(token.hash, by: device.bytes, at: 1_500) else {
            throw CancellationError()
        }
        #expect(try store.redeem(token.hash, by: other.bytes, at: 1_500) == .refused(.deviceLimit))
        #expect(try store.places(ofDevice: device).map(\.token) == [token.id])
        #expect(try store.places(ofDevice: other) == [])
        #expect(try !store.beginErasure(of: device, at: 5))
        #expect(try store.finishErasure(of: device) == Erasure(key: .unknown, places: 1))
        #expect(try store.places(ofDevice: device) == [])
        guard case .granted = try store.redeem(token.hash, by: other.bytes, at: 1_500) else {
            throw CancellationError()
        }
    }

    @Test func `can't be erased while another process holds the write lock or reads an old state`() throws {
        let store = try SQLiteKeyDatabase(path: path, limits: .impatient)
        let key = try key(1)
        _ = try store.enrol(key)
        let stranger = try DatabaseQueue(path: path)
        try stranger.inDatabase { database in
            try database.beginTransaction(.immediate)
            #expect(throws: KeyRegistryError.busy) { try store.beginErasure(of: key.id, at: 5) }
            #expect(throws: KeyRegistryError.busy) { try store.finishErasure(of: key.id) }
            #expect(throws: KeyRegistryError.busy) { try store.prune([key.id], idleSince: 5_000) }
            try database.rollback()
        }
        try stranger.inDatabase { database in
            try database.beginTransaction(.deferred)
            _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM device_key")
            _ = try store.finishErasure(of: key.id)
            #expect(try !store.emptyLog())
            try database.commit()
        }
        #expect(try store.emptyLog())
        #expect(try traces(of: key) == [])
    }

    // MARK: Pruning

    @Test func `are those that nobody has used since a time, to the millisecond`() async throws {
        let store = try SQLiteKeyDatabase(path: path)
        let (old, used, edge, revoked) = (
            try key(1), try key(2, lastUsedAt: 9_000), try key(3, lastUsedAt: 5_000), try key(4)
        )
        for key in [old, used, edge, revoked] { _ = try store.enrol(key) }
        _ = try store.revoke(revoked.id, reason: "lost", at: 1)
        let ids = [old, used, edge, revoked].map(\.id) + [KeyID.sample(9)]
        for (time, forgotten) in [(1_000, []), (5_000, [old.id]), (5_001, [edge.id])] as [(Int64, Set<KeyID>)] {
            #expect(try await ids.pruned { try store.prune($0, idleSince: time) } == forgotten)
        }
        #expect(try store.keys(after: nil, limit: 9).map(\.id).sorted() == [used, revoked].map(\.id).sorted())
        #expect(try store.enrol(revoked) == .revoked)
        #expect(SQLiteStoreCheck(path: path).isGood)
    }

    @Test func `are a bounded number in one transaction`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        let keys = try (0..<SQLiteKeyDatabase.maximumPruned + 5).map { try key($0) }
        for key in keys { _ = try store.enrol(key) }
        let first = try store.prune(keys.map(\.id), idleSince: 5_000)
        #expect((1...SQLiteKeyDatabase.maximumPruned).contains(first.handled) && first.forgotten.count == first.handled)
        #expect(try store.prune([], idleSince: 5_000) == PrunedBatch(forgotten: [], handled: 0))
    }
}
