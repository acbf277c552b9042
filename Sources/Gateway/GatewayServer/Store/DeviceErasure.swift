import Admission
import KeyStore

/// The erasure of devices that unregister themselves, in the two steps of ``KeyMaintenance``: as an operator's, but a
/// key that an operator has revoked meanwhile keeps its record.
struct DeviceErasure: Sendable {
    /// Keys of one ``finishOld(begunBefore:)``.
    private static let maximumAtOnce = 100

    let store: any KeyMaintenance

    /// - Parameter time: in Unix milliseconds.
    func begin(_ id: KeyID, at time: Int64) async throws(KeyRegistryError) {
        _ = try await store.beginErasure(of: id, at: time)
    }

    /// When gateways have had the time to close the key's sessions.
    func finish(_ id: KeyID) async throws(KeyRegistryError) {
        guard try await store.standing(of: id)?.isBeingErased == true else { return }
        let grants = try await store.places(ofDevice: id).map(\.token.text)
        let holders = Identity.ofDevice(id, grants: grants).compactMap { HolderMark(bytes: $0.mark) }
        _ = try await store.finishErasure(of: id, holders: holders)
    }

    /// - Returns: how many were finished.
    func finishOld(begunBefore time: Int64) async throws(KeyRegistryError) -> Int {
        let ids = try await store.unfinishedErasures(begunBefore: time, limit: Self.maximumAtOnce)
        for id in ids { try await finish(id) }
        return ids.count
    }
}

/// Finishes erasures whose second step never came: the gateway or the operator's command was killed, or the store busy.
/// Any gateway of a fleet that may erase does so, and several at once.
struct ErasureSweep {
    /// Milliseconds between two looks, each of which reads all revoked keys.
    static let interval: Int64 = 600_000
    /// Milliseconds after which nobody is about to finish it.
    static let age: Int64 = 60_000

    private var last: Int64?

    /// - Parameter time: in Unix milliseconds; a clock that was set back makes a look due.
    /// - Returns: how many were finished.
    mutating func run(_ store: any GatewayStore, at time: Int64) async throws(KeyRegistryError) -> Int {
        if let last, (0..<Self.interval).contains(time - last) { return 0 }
        last = time
        guard try await store.mayFinishErasures() else { return 0 }
        return try await DeviceErasure(store: store.keys).finishOld(begunBefore: time - Self.age)
    }
}
