import Foundation
import GRDB
import KeyStore
import Logging
import Settings
import SettingsTestKit
import StallTestKit
import Synchronization
import Testing

@testable import GatewayServer
@testable import KeyStoreSQLite

/// The watcher for revoked keys while a registration waits for a stalled disk.
struct RevocationWatcherTests {
    private let bench: ConfigurationBench
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        bench = try ConfigurationBench()
    }

    private func store(_ name: String) throws -> SQLiteKeyRegistry {
        var limits = SQLiteKeyRegistry.Limits()
        limits.administrationBusyMilliseconds = 60_000
        return try SQLiteKeyRegistry(path: bench.folder + "/" + name, limits: limits)
    }

    private func key(_ byte: UInt8) throws -> DeviceKey {
        DeviceKey(
            id: try #require(KeyID(bytes: [UInt8](repeating: byte, count: KeyID.length))), publicKeyX963: [4],
            app: "app", environment: "production", trustRoot: [7], counter: 0, receipt: [], validationCategory: nil,
            bundleVersion: nil, registeredAt: 1)
    }

    @Test func `who waits for a look gets one that began afterwards, when its sessions are closed`() async throws {
        let (store, key) = (try store("own.sqlite"), try key(1))
        _ = try await store.enrol(key)
        let (releases, releasing) = AsyncStream.makeStream(of: Void.self)
        let closed = Mutex<Set<KeyID>>([])
        let watcher = RevocationWatcher(try SQLiteRevocations(of: store), logger: logger) { revocations in
            guard !revocations.keys.isEmpty else { return }
            for await _ in releases { break }
            closed.withLock { $0 = revocations.keys }
        }
        // Nobody looks.
        #expect(await !watcher.hasLooked(within: .zero))
        await watcher.lookOnce()
        #expect(await !watcher.hasLooked(within: .zero))

        let own = OwnRevocationWatcher()
        #expect(await !own.hasLooked(within: .zero))
        own.set(watcher)
        let watch = Task { await watcher.run() }
        #expect(await own.hasLooked(within: .seconds(60)))
        #expect(try await store.beginErasure(of: key.id, at: 1))
        let waiting = Task { await own.hasLooked(within: .seconds(60)) ? closed.withLock { $0 } : [] }
        releasing.yield()
        #expect(await waiting.value == [key.id])
        watch.cancel()
    }

    @Test func `the end of an account is noticed when its sessions are closed`() async throws {
        let store = try store("accounts.sqlite")
        let account = try account(1)
        // Ends are remembered for an hour.
        let now = Int64(Date().timeIntervalSince1970 * 1_000)
        #expect(try await store.begin(account, maximum: 9) == .begun)
        let closed = Mutex<[StoreRevocations]>([])
        let watcher = RevocationWatcher(try SQLiteRevocations(of: store), logger: logger) { revocations in
            closed.withLock { $0.append(revocations) }
        }
        await watcher.lookOnce()
        #expect(!watcher.hasNoticed(account: account.id))
        #expect(try await store.remove(account.passkeys[0].mark, of: account.id, at: now))
        await watcher.lookOnce()
        #expect(!watcher.hasNoticed(account: account.id))
        #expect(closed.withLock { $0.last?.passkeys } == [account.passkeys[0].mark])
        #expect(try await store.close(account.id, at: now))
        await watcher.lookOnce()
        #expect(watcher.hasNoticed(account: account.id))
        #expect(closed.withLock { $0.last?.accounts } == [account.id])
    }

    private func account(_ byte: UInt8) throws -> Account {
        let id = try #require(AccountID(bytes: [UInt8](repeating: byte, count: AccountID.length)))
        let mark = try #require(PasskeyMark(bytes: [UInt8](repeating: byte, count: PasskeyMark.length)))
        let passkey = Passkey(
            mark: mark, credentialID: [byte], publicKey: [byte], signCount: 0, isBackupEligible: false,
            isBackedUp: false, isUserVerified: true, aaguid: [UInt8](repeating: 0, count: AccountLimits.aaguidBytes),
            attestation: "none", label: "", madeAt: 1)
        return Account(id: id, origin: .device, madeAt: 1, passkeys: [passkey])
    }

    @Test func `a look that fails is none`() async throws {
        let store = try store("failing.sqlite")
        let watcher = RevocationWatcher(try SQLiteRevocations(of: store), logger: logger) { _ in }
        let watch = Task { await watcher.run() }
        #expect(await watcher.hasLooked(within: .seconds(60)))
        let database = try DatabaseQueue(path: bench.folder + "/failing.sqlite")
        try await database.write { try $0.execute(sql: "DELETE FROM revision WHERE part = 2") }
        #expect(await !watcher.hasLooked(within: .milliseconds(200)))
        try await database.write { try $0.execute(sql: "INSERT INTO revision VALUES (2, random())") }
        #expect(await watcher.hasLooked(within: .seconds(60)))
        watch.cancel()
    }

    @Test func `a revocation is noticed while another store's registrations wait for its disk`() async throws {
        let (stalled, watched, gate) = (try store("stalled.sqlite"), try store("watched.sqlite"), Gate())
        let revoked = try key(1)
        _ = try await watched.enrol(revoked)

        // The connection that every registration needs is in use until the gate opens.
        let thread = Thread { [database = stalled.database] in
            try? database.administration.use { _ in gate.pass() }
        }
        thread.start()
        await gate.arrivals(1)
        let registrations = try (0..<ProcessInfo.processInfo.activeProcessorCount + 2).map { number in
            let key = try key(UInt8(truncatingIfNeeded: number))
            return Task { try await stalled.enrol(key) }
        }

        let (noticed, noticing) = AsyncStream.makeStream(of: Set<KeyID>.self)
        let watcher = RevocationWatcher(try SQLiteRevocations(of: watched), logger: logger) { revocations in
            if !revocations.keys.isEmpty { noticing.yield(revocations.keys) }
        }
        let watch = Task { await watcher.run() }
        _ = try await watched.revoke(revoked.id, reason: "lost", at: 1)
        var notices = noticed.makeAsyncIterator()
        #expect(await notices.next() == [revoked.id])
        #expect(watcher.hasNoticed(revoked.id))
        #expect(gate.isHolding)

        gate.open()
        watch.cancel()
        for registration in registrations { #expect(try await registration.value == .enrolled) }
    }
}
