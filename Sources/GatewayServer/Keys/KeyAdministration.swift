package import FoundationEssentials
import KeyStore
import Observability
package import Settings
import WireText

/// The operator's administration of registered keys, on a store that a gateway may be using at the same time.
package struct KeyAdministration {
    let store: any KeyMaintenance
    static let page = 500

    /// - Parameter location: an existing store; it isn't created.
    package init(_ location: StoreLocation) throws(KeyAdministrationError) {
        do throws(StoreOpeningError) { store = try location.open() } catch {
            switch error {
            case .missing(let path): throw .noStore(path: path)
            case .file(let reason): throw .store("\(reason)")
            case .database(let reason): throw .database(reason)
            }
        }
    }

    /// - Parameter store: the running gateway's own.
    init(_ store: any KeyMaintenance) {
        self.store = store
    }

    /// - Parameter after: the identifier of the last key of the page before.
    func page(after: String?, limit: Int) async throws(KeyAdministrationError) -> [ListedKey] {
        let last: KeyID? = if let after { try parse(after) } else { nil }
        return try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.listing(after: last, limit: limit)
        }
    }

    /// Calls `show` with a line for each key, in the order of their identifiers.
    ///
    /// - Returns: how many keys there are.
    package func list(json: Bool = false, _ show: (String) -> Void) async throws(KeyAdministrationError) -> Int {
        var (last, count): (KeyID?, Int) = (nil, 0)
        while true {
            let keys = try await administrationErrors { [last] () async throws(KeyRegistryError) in
                try await store.listing(after: last, limit: Self.page)
            }
            guard !keys.isEmpty else { return count }
            for key in keys { show(json ? KeyDescription.json(key) : KeyDescription.line(key)) }
            count += keys.count
            last = keys.last?.id
        }
    }

    /// - Returns: all data of the key, one item per line.
    package func show(_ keyID: String) async throws(KeyAdministrationError) -> String {
        let id = try parse(keyID)
        guard let key = try await administrationErrors({ () async throws(KeyRegistryError) in try await store.key(id) })
        else {
            throw .unknownKey
        }
        return KeyDescription(key).full
    }

    package func revoke(_ keyID: String, reason: String, at time: Date) async throws(KeyAdministrationError) {
        let id = try parse(keyID)
        guard reason.utf8.count <= RecordLimits.reasonBytes else { throw .reason }
        let milliseconds = Int64(time.timeIntervalSince1970 * 1_000)
        let isKnown = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.revoke(id, reason: reason, at: milliseconds)
        }
        guard isKnown else { throw .unknownKey }
    }

    package func restore(_ keyID: String) async throws(KeyAdministrationError) {
        let id = try parse(keyID)
        guard try await administrationErrors({ () async throws(KeyRegistryError) in try await store.restore(id) })
        else {
            throw .unknownKey
        }
    }

    package func forget(_ keyID: String) async throws(KeyAdministrationError) {
        let id = try parse(keyID)
        switch try await administrationErrors({ () async throws(KeyRegistryError) in try await store.forget(id) }) {
        case .forgotten: return
        case .unknown: throw .unknownKey
        case .refusedRevoked: throw .revokedKey
        }
    }

    func parse(_ text: String) throws(KeyAdministrationError) -> KeyID {
        guard let id = KeyID(text: text) else { throw .malformedKeyID }
        return id
    }
}

package enum KeyAdministrationError: Error, Equatable, CustomStringConvertible {
    case store(String)
    case database(FleetStoreError)
    /// The gateway hasn't run yet, or the path is wrong.
    case noStore(path: String)
    case malformedKeyID
    case unknownKey
    case revokedKey
    case idleDays
    /// It is too long to be stored.
    case reason
    case auditFile(String)
    /// The key's data may still be in the store's write-ahead log.
    case logNotEmptied
    /// A running gateway didn't close the device's sessions: nothing is erased yet, and the key is refused.
    case notNoticed

    package var description: String {
        switch self {
        case .store(let reason): "the key store can't be used: \(reason)"
        case .database(let error): "\(error)"
        case .noStore(let path): "no keys yet: no database at \(EscapedText(NamedFile.absolute(path)))"
        case .malformedKeyID: "this is no key identifier: it is 32 bytes in base64"
        case .unknownKey: "no such key"
        case .reason: "a reason has at most \(RecordLimits.reasonBytes) bytes"
        case .idleDays: "--idle is a number of days from 1 to \(KeyAdministration.maximumIdleDays), such as 90d"
        case .auditFile(let reason): "an audit log can't be read: \(reason)"
        case .logNotEmptied: "the key is erased, but its data may still be in the store's write-ahead log"
        case .notNoticed:
            "nothing is erased yet: the gateway hasn't noticed in time, so the device may still be connected"
        case .revokedKey: "the key is revoked: forgetting it would lift the revocation"
        }
    }

    package var hint: String {
        switch self {
        case .store: "portcullis store check says what is wrong with it."
        case .database(let error): error.hint
        case .noStore: StoreOpeningError.hint
        case .malformedKeyID, .unknownKey: "portcullis keys list shows all."
        case .reason: "name a ticket or a page that says more."
        case .idleDays: "portcullis keys prune --idle 90d --dry-run shows what it would forget."
        case .auditFile: "name other files with --audit-file."
        case .notNoticed: "the key is refused meanwhile. Run the command again."
        case .logNotEmptied: "run the command again when the store is less busy."
        case .revokedKey: "restore it first, if that is meant."
        }
    }
}

func administrationErrors<Result>(
    _ body: () throws(KeyRegistryError) -> Result
) throws(KeyAdministrationError) -> Result {
    do throws(KeyRegistryError) {
        return try body()
    } catch {
        throw .store("\(error)")
    }
}

func administrationErrors<Result>(
    _ body: () async throws(KeyRegistryError) -> Result
) async throws(KeyAdministrationError) -> Result {
    do throws(KeyRegistryError) {
        return try await body()
    } catch {
        throw .store("\(error)")
    }
}
