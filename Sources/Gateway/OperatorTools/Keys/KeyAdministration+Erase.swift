import Admission
package import FoundationEssentials
package import KeyStore

extension Erasure {
    /// For the operator, a sentence each.
    package var lines: [String] {
        let store =
            switch key {
            case .unknown: "the store has no such key"
            case .removed: "everything about the key is erased: its device may register again"
            case .reducedToRevocation:
                "everything about the key is erased but its identifier and the time of its revocation, which keep it out"
            }
        return [store] + (places > 0 ? ["\(places) places on development tokens are erased, and free again"] : [])
    }
}

extension KeyAdministration {
    package static let notice = KeyStore.Erasure.notice

    /// Erases all that the store has about a device.
    ///
    /// - Parameters:
    ///   - keyID: the key's identifier, or the thumbprint of a device's key that used development tokens.
    ///   - awaitNotice: called when a gateway has to close the device's sessions before its key is removed. Returns
    ///     when it has; false: it hasn't.
    package func erase(
        _ keyID: String, at time: Date, awaitNotice: () async -> Bool
    ) async throws(OperatorError) -> Erasure {
        let id = try parse(keyID)
        let milliseconds = Int64(time.timeIntervalSince1970 * 1_000)
        let needsNotice = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.beginErasure(of: id, at: milliseconds)
        }
        if needsNotice {
            guard await awaitNotice() else { throw .notNoticed }
        }
        let erased = try await administrationErrors { () async throws(KeyRegistryError) in
            let grants = try await store.places(ofDevice: id).map(\.token.text)
            let holders = Identity.ofDevice(id, grants: grants).compactMap { HolderMark(bytes: $0.mark) }
            return try await store.finishErasure(of: id, holders: holders)
        }
        // Also if nothing was found: an earlier try may have ended here.
        let isEmpty = try await administrationErrors { () async throws(KeyRegistryError) in try await store.emptyLog() }
        guard isEmpty else { throw .logNotEmptied }
        return erased
    }
}

extension OperatorError {
    /// The key's data may still be in the store's write-ahead log.
    static let logNotEmptied = OperatorError(
        "the key is erased, but its data may still be in the store's write-ahead log",
        hint: "run the command again when the store is less busy.")
    /// A running gateway didn't close the device's sessions: nothing is erased yet, and the key is refused.
    package static let notNoticed = OperatorError(
        "nothing is erased yet: the gateway hasn't noticed in time, so the device may still be connected",
        hint: "the key is refused meanwhile. Run the command again.")
}
