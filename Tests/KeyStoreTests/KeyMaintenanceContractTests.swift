import KeyStore
import KeyStoreSQLite
import Testing

/// The contract of stores whose keys can be pruned and erased.
@Suite("The maintenance of keys")
struct KeyMaintenanceContractTests {
    enum Kind: CaseIterable, Sendable {
        case sqlite, postgresql

        func make() async throws -> (store: any KeyMaintenance & DevelopmentTokenStore, owner: AnyObject?) {
            switch self {
            case .sqlite:
                let directory = try TemporaryDirectory()
                return (try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), directory)
            case .postgresql:
                let database = try await FleetDatabase()
                return (database.registry, database)
            }
        }
    }

    private func key(_ byte: UInt8, lastUsedAt: Int64? = nil) -> DeviceKey {
        var key = DeviceKey.sample(byte)
        (key.registeredAt, key.lastUsedAt) = (1_000, lastUsedAt)
        return key
    }

    @Test(arguments: Kind.allCases)
    func `prunes keys that nobody has used since a time, to the millisecond`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let (old, used, edge, revoked) = (key(1), key(2, lastUsedAt: 9_000), key(3, lastUsedAt: 5_000), key(4))
        for key in [old, used, edge, revoked] { _ = try await store.enrol(key) }
        _ = try await store.revoke(revoked.id, reason: "lost", at: 1)
        let ids = [old, used, edge, revoked].map(\.id) + [KeyID.sample(9)]
        for (time, forgotten) in [(1_000, []), (5_000, [old.id]), (5_001, [edge.id])] as [(Int64, Set<KeyID>)] {
            #expect(try await ids.pruned { try await store.prune($0, idleSince: time) } == forgotten)
        }
        #expect(try await store.keys(after: nil, limit: 9).map(\.id).sorted() == [used.id, revoked.id])
        #expect(try await store.prune([], idleSince: 5_000) == PrunedBatch(forgotten: [], handled: 0))
        #expect(try await store.enrol(old) == .enrolled)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `erases a key, which is refused in between and can be registered afterwards`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.enrol(key(1))
        #expect(try await store.standing(of: .sample(1))?.isBeingErased == false)
        #expect(try await store.beginErasure(of: .sample(1), at: 5))
        #expect(try await store.standing(of: .sample(1))?.isRevoked == true)
        #expect(try await store.standing(of: .sample(1))?.isBeingErased == true)
        #expect(try await store.key(.sample(1))?.isBeingErased == true)
        #expect(try await store.enrol(key(1)) == .revoked)
        #expect(try await store.beginErasure(of: .sample(1), at: 6))
        #expect(try await store.finishErasure(of: .sample(1)) == Erasure(key: .removed, places: 0))
        #expect(try await store.key(.sample(1)) == nil)
        #expect(try await !store.beginErasure(of: .sample(1), at: 7))
        #expect(try await store.enrol(key(1)) == .enrolled)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `names the keys whose erasure has begun before a time and hasn't ended`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        for byte in UInt8(1)...5 { _ = try await store.enrol(key(byte)) }
        for byte in UInt8(1)...4 { #expect(try await store.beginErasure(of: .sample(byte), at: Int64(byte) * 10)) }
        _ = try await store.revoke(.sample(5), reason: "lost", at: 1)
        _ = try await store.revoke(.sample(4), reason: "lost", at: 41)
        #expect(try await store.unfinishedErasures(begunBefore: 10, limit: 9) == [])
        #expect(try await store.unfinishedErasures(begunBefore: 11, limit: 9) == [.sample(1)])
        let all = try await store.unfinishedErasures(begunBefore: .max, limit: 9)
        #expect(all.sorted() == [.sample(1), .sample(2), .sample(3)])
        #expect(try await store.unfinishedErasures(begunBefore: .max, limit: 2).count == 2)
        _ = try await store.finishErasure(of: .sample(1))
        _ = try await store.restore(.sample(2))
        #expect(try await store.unfinishedErasures(begunBefore: .max, limit: 9) == [.sample(3)])
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases, [false, true])
    func `reduces a revoked key to its revocation, which keeps it out`(kind: Kind, later: Bool) async throws {
        let (store, owner) = try await kind.make()
        _ = try await store.enrol(key(1, lastUsedAt: 8))
        if later { #expect(try await store.beginErasure(of: .sample(1), at: 5)) }
        _ = try await store.revoke(.sample(1), reason: "stolen phone", at: 77)
        if !later { #expect(try await !store.beginErasure(of: .sample(1), at: 99)) }
        #expect(try await store.standing(of: .sample(1))?.isBeingErased == false)
        for _ in 0..<2 {
            let erasure = try await store.finishErasure(of: .sample(1))
            #expect(erasure == Erasure(key: .reducedToRevocation, places: 0))
        }
        let rest = try #require(try await store.key(.sample(1)))
        #expect(rest.isErased && rest.revokedAt == (later ? 5 : 77))
        #expect(rest.revocationReason == DeviceKey.erasedReason)
        #expect(rest.app == "" && rest.receipt == [] && rest.trustRoot == [] && rest.lastUsedAt == nil)
        #expect(try await store.enrol(key(1)) == .revoked)
        #expect(try await store.advanceCounter(of: .sample(1), to: 9, at: 1) == .revoked)
        #expect(try await store.forget(.sample(1)) == .refusedRevoked)
        // Lifting the revocation makes the key unknown: nothing is left to be restored.
        #expect(try await store.restore(.sample(1)))
        #expect(try await store.key(.sample(1)) == nil)
        withExtendedLifetime(owner) {}
    }

    @Test(arguments: Kind.allCases)
    func `gives up the places on development tokens of a device`(kind: Kind) async throws {
        let (store, owner) = try await kind.make()
        let token = DevelopmentToken.sample(devices: 1)
        _ = try await store.issue(token)
        let (device, other) = (KeyID.sample(8), KeyID.sample(9))
        #expect(try await store.redeem(token.hash, by: device.bytes, at: 1_500) == .granted(token.grant))
        #expect(try await store.redeem(token.hash, by: other.bytes, at: 1_500) == .refused(.deviceLimit))
        #expect(try await store.places(ofDevice: device).map(\.token) == [token.id])
        #expect(try await store.places(ofDevice: device).map(\.firstUsedAt) == [1_500])
        #expect(try await store.places(ofDevice: other) == [])
        #expect(try await !store.beginErasure(of: device, at: 5))
        #expect(try await store.finishErasure(of: device) == Erasure(key: .unknown, places: 1))
        #expect(try await store.places(ofDevice: device) == [])
        #expect(try await store.redeem(token.hash, by: other.bytes, at: 1_500) == .granted(token.grant))
        withExtendedLifetime(owner) {}
    }
}
