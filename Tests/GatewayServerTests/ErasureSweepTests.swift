import Foundation
import KeyStore
import KeyStoreSQLite
import SettingsTestKit
import Testing

@testable import GatewayServer

@Suite("Erasures whose second step never came")
struct ErasureSweepTests {
    private let store: SQLiteKeyRegistry
    private let erasure: DeviceErasure
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
        var limits = SQLiteKeyRegistry.Limits()
        limits.administrationBusyMilliseconds = 60_000
        store = try SQLiteKeyRegistry(path: bench.folder + "/erasures.sqlite", limits: limits)
        erasure = DeviceErasure(store: store)
    }

    private func enrol(_ byte: UInt8) async throws -> KeyID {
        let id = try #require(KeyID(bytes: [UInt8](repeating: byte, count: KeyID.length)))
        let key = DeviceKey(
            id: id, publicKeyX963: [4], app: "app", environment: "production", trustRoot: [7], counter: 0, receipt: [],
            validationCategory: nil, bundleVersion: nil, registeredAt: 1)
        #expect(try await store.enrol(key) == .enrolled)
        return id
    }

    @Test func `are finished when nobody is about to, and no other key is touched`() async throws {
        let ids = [try await enrol(1), try await enrol(2), try await enrol(3)]
        let time: Int64 = 1_790_000_000_000
        try await erasure.begin(ids[0], at: time - ErasureSweep.age - 1)
        try await erasure.begin(ids[1], at: time - ErasureSweep.age)
        #expect(try await store.revoke(ids[2], reason: "lost", at: 1))
        var sweep = ErasureSweep()
        #expect(try await sweep.run(FileStore(store), at: time) == 1)
        #expect(try await store.key(ids[0]) == nil)
        #expect(try await store.key(ids[1])?.isBeingErased == true)
        // The next look comes a minute later.
        #expect(try await sweep.run(FileStore(store), at: time + ErasureSweep.interval - 1) == 0)
        #expect(try await sweep.run(FileStore(store), at: time + ErasureSweep.interval) == 1)
        #expect(try await store.key(ids[1]) == nil)
        #expect(try await store.key(ids[2])?.revocationReason == "lost")
        // After the clock was set back, a look is due.
        let late = try await enrol(4)
        try await erasure.begin(late, at: 5)
        #expect(try await sweep.run(FileStore(store), at: time - 1) == 1)
    }

    @Test func `keep the record of a key that an operator has revoked since`() async throws {
        let id = try await enrol(1)
        try await erasure.begin(id, at: 5)
        #expect(try await store.revoke(id, reason: "lost", at: 6))
        try await erasure.finish(id)
        let key = try #require(try await store.key(id))
        #expect(key.revocationReason == "lost" && !key.isErased && key.app == "app")
        #expect(try await erasure.finishOld(begunBefore: .max) == 0)
        // Nor is one removed whose erasure hasn't begun.
        let other = try await enrol(2)
        try await erasure.finish(other)
        #expect(try await store.key(other) != nil)
    }
}
