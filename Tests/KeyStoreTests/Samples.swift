import Foundation
import KeyStore
import KeyStoreSQLite
import KeyStoreTestKit
import Synchronization
import Testing

/// A temporary directory that is removed with its last reference.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "portcullis-keys-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }
}

/// The stores that must fulfil the contract.
enum RegistryKind: CaseIterable, Sendable {
    case memory
    case sqlite
    case postgresql

    /// An empty store, and the objects that must live as long as it does.
    func make() async throws -> (registry: any KeyRegistry, owner: AnyObject?) {
        switch self {
        case .memory: return (MemoryKeyRegistry(), nil)
        case .sqlite:
            let directory = try TemporaryDirectory()
            return (try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), directory)
        case .postgresql:
            let database = try await FleetDatabase()
            return (database.registry, database)
        }
    }
}

/// The part of a store that a test uses for operations that both parts have.
enum StorePart: CaseIterable, Sendable {
    case immediate
    case asynchronous

    /// Every part of every store. A store that is queried over a network has no immediate part.
    static let all: [(RegistryKind, StorePart)] = RegistryKind.allCases.flatMap { kind in
        allCases.filter { kind != .postgresql || $0 == .asynchronous }.map { (kind, $0) }
    }

    func standing(of id: KeyID, in store: any KeyRegistry) async throws -> KeyStanding? {
        switch self {
        case .immediate: try #require(store as? any ImmediateKeyRegistry).standing(of: id)
        case .asynchronous: try await store.standing(of: id)
        }
    }

    func advance(
        _ id: KeyID, to counter: UInt32, at time: Int64, in store: any KeyRegistry
    ) async throws -> CounterAdvance {
        switch self {
        case .immediate:
            try #require(store as? any ImmediateKeyRegistry).advanceCounter(of: id, to: counter, at: time)
        case .asynchronous: try await store.advanceCounter(of: id, to: counter, at: time)
        }
    }

    func use(
        _ counter: CounterUse, of id: KeyID, at time: Int64, in store: any KeyRegistry
    ) async throws -> CounterAdvance {
        switch self {
        case .immediate: try #require(store as? any ImmediateKeyRegistry).use(counter, of: id, at: time)
        case .asynchronous: try await store.use(counter, of: id, at: time)
        }
    }

    /// Many calls at once, on threads or in tasks; the outcomes are unordered.
    func race(
        _ count: Int, for id: KeyID, in store: any KeyRegistry, to counter: @escaping @Sendable (Int) -> UInt32
    ) async throws -> [CounterAdvance] {
        switch self {
        case .immediate:
            let store = try #require(store as? any ImmediateKeyRegistry)
            return try onThreads(count) { try store.advanceCounter(of: id, to: counter($0), at: Int64($0)) }
                .map { try $0.get() }
        case .asynchronous:
            return try await withThrowingTaskGroup(of: CounterAdvance.self) { group in
                for racer in 0..<count {
                    group.addTask { try await store.advanceCounter(of: id, to: counter(racer), at: Int64(racer)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
    }
}

extension SQLiteKeyRegistry.Limits {
    /// For tests that aren't about waiting: a slow machine mustn't cause `.busy`.
    static var patient: Self {
        var limits = Self()
        limits.busyMilliseconds = 60_000
        limits.administrationBusyMilliseconds = 60_000
        return limits
    }

    /// For tests in which the lock is held all the time.
    static var impatient: Self {
        var limits = Self()
        limits.busyMilliseconds = 5
        limits.administrationBusyMilliseconds = 5
        return limits
    }
}

/// For tests of files and of reading: what a record has to be is GatewayServer's (`RegistrationRules`).
struct AnyRecord: RecordRules {
    func faults(of record: StoreRecord) -> [String] { [] }
}

extension SQLiteStoreCheck {
    init(path: String) { self.init(path: path, rules: AnyRecord()) }
}

extension KeyID {
    /// 32 equal bytes, so the identifiers are ordered by that byte.
    static func sample(_ byte: UInt8) -> KeyID {
        guard let id = KeyID(bytes: [UInt8](repeating: byte, count: KeyID.length)) else { preconditionFailure() }
        return id
    }
}

extension DeviceKey {
    static func sample(_ byte: UInt8 = 1, counter: UInt32 = 0) -> DeviceKey {
        DeviceKey(
            id: .sample(byte), publicKeyX963: [4] + [UInt8](repeating: byte, count: 64),
            app: "ABCDE12345.org.example.mud",
            environment: "production", trustRoot: [UInt8](repeating: 7, count: 32), counter: counter,
            receipt: [UInt8](repeating: 9, count: 5000), validationCategory: 4, bundleVersion: "1.2.3",
            registeredAt: 1_790_000_000_000)
    }
}

extension DevelopmentToken {
    /// Issued at 1000 and valid before 2000; the hash has 32 equal bytes.
    static func sample(
        _ byte: UInt8 = 1, devices: Int = 2, routes: [String]? = nil, issuedAt: Int64 = 1_000, expiresAt: Int64 = 2_000
    ) -> DevelopmentToken {
        guard let hash = DevelopmentTokenHash(bytes: [UInt8](repeating: byte, count: DevelopmentTokenHash.length))
        else { preconditionFailure() }
        return DevelopmentToken(
            hash: hash, name: "continuous integration", routes: routes, maximumDevices: devices, issuedAt: issuedAt,
            expiresAt: expiresAt)
    }
}

/// Runs `body` on `count` threads that start together, and returns the results, unordered.
func onThreads<Value: Sendable>(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Value) -> [Result<
    Value, any Error
>] {
    let results = Collected<Result<Value, any Error>>()
    let starting = DispatchSemaphore(value: 0)
    let done = DispatchGroup()
    for index in 0..<count {
        done.enter()
        Thread.detachNewThread {
            starting.wait()
            results.append(Result { try body(index) })
            done.leave()
        }
    }
    for _ in 0..<count { starting.signal() }
    done.wait()
    return results.values
}

private final class Collected<Value: Sendable>: Sendable {
    private let storage = Mutex<[Value]>([])
    var values: [Value] { storage.withLock { $0 } }
    func append(_ value: Value) { storage.withLock { $0.append(value) } }
}

extension KeyMaintenance {
    /// Of a device without tickets.
    func finishErasure(of id: KeyID) async throws(KeyRegistryError) -> Erasure {
        try await finishErasure(of: id, holders: [])
    }
}

extension [KeyID] {
    /// The keys that are forgotten in as many transactions as it takes: how many one handles is a matter of time.
    func pruned(_ batch: ([KeyID]) async throws -> PrunedBatch) async throws -> Set<KeyID> {
        var (rest, forgotten) = (self[...], Set<KeyID>())
        while !rest.isEmpty {
            let pruned = try await batch(Array(rest))
            try #require((1...rest.count).contains(pruned.handled))
            rest = rest.dropFirst(pruned.handled)
            forgotten.formUnion(pruned.forgotten)
        }
        return forgotten
    }
}

extension KeptTicket {
    /// Hash, session and holder are of equal bytes each.
    static func sample(
        _ byte: UInt8, session: UInt8 = 1, holder: UInt8 = 1, content: [UInt8] = [9], expires: Int64 = 1_000
    ) -> KeptTicket {
        guard
            let ticket = KeptTicket(
                hash: [UInt8](repeating: byte, count: hashBytes), session: .sample(session), holder: .sample(holder),
                content: content, expires: expires)
        else { preconditionFailure() }
        return ticket
    }
}

extension SessionMark {
    static func sample(_ byte: UInt8) -> SessionMark {
        guard let mark = SessionMark(bytes: [UInt8](repeating: byte, count: byteCount)) else { preconditionFailure() }
        return mark
    }
}

extension HolderMark {
    static func sample(_ byte: UInt8) -> HolderMark {
        guard let mark = HolderMark(bytes: [UInt8](repeating: byte, count: byteCount)) else { preconditionFailure() }
        return mark
    }
}
