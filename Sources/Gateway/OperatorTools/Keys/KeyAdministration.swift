package import FoundationEssentials
import KeyStore
import Observability
package import Settings
import WireText

/// The operator's administration of registered keys, on a store that a gateway may be using at the same time.
package struct KeyAdministration {
    let store: any KeyMaintenance & AccountStore
    static let page = 500

    /// - Parameter location: an existing store; it isn't created.
    package init(_ location: StoreLocation) throws(OperatorError) {
        store = try location.open(without: "no keys yet")
    }

    init(_ store: any KeyMaintenance & AccountStore) {
        self.store = store
    }

    /// Calls `show` with a line for each key, in the order of their identifiers.
    ///
    /// - Returns: how many keys there are.
    package func list(json: Bool = false, _ show: (String) -> Void) async throws(OperatorError) -> Int {
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
    package func show(_ keyID: String) async throws(OperatorError) -> String {
        let id = try parse(keyID)
        guard let key = try await administrationErrors({ () async throws(KeyRegistryError) in try await store.key(id) })
        else {
            throw .unknownKey
        }
        return KeyDescription(key).full
    }

    package func revoke(_ keyID: String, reason: String, at time: Date) async throws(OperatorError) {
        let id = try parse(keyID)
        guard reason.utf8.count <= RecordLimits.reasonBytes else { throw .reason }
        let milliseconds = Int64(time.timeIntervalSince1970 * 1_000)
        let isKnown = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.revoke(id, reason: reason, at: milliseconds)
        }
        guard isKnown else { throw .unknownKey }
    }

    package func restore(_ keyID: String) async throws(OperatorError) {
        let id = try parse(keyID)
        guard try await administrationErrors({ () async throws(KeyRegistryError) in try await store.restore(id) })
        else {
            throw .unknownKey
        }
    }

    package func forget(_ keyID: String) async throws(OperatorError) {
        let id = try parse(keyID)
        switch try await administrationErrors({ () async throws(KeyRegistryError) in try await store.forget(id) }) {
        case .forgotten: return
        case .unknown: throw .unknownKey
        case .refusedRevoked: throw .revokedKey
        }
    }

    func parse(_ text: String) throws(OperatorError) -> KeyID {
        guard let id = KeyID(text: text) else { throw .malformedKeyID }
        return id
    }
}

extension OperatorError {
    private static let allKeys = "portcullis keys list shows all."

    static let malformedKeyID = OperatorError(
        "this is no key identifier: it is 32 bytes in base64", hint: allKeys)
    static let unknownKey = OperatorError("no such key", hint: allKeys)
    static let revokedKey = OperatorError(
        "the key is revoked: forgetting it would lift the revocation", hint: "restore it first, if that is meant.")
    /// It is too long to be stored.
    static let reason = OperatorError(
        "a reason has at most \(RecordLimits.reasonBytes) bytes", hint: "name a ticket or a page that says more.")
}

func administrationErrors<Result>(
    _ body: () throws(KeyRegistryError) -> Result
) throws(OperatorError) -> Result {
    do throws(KeyRegistryError) {
        return try body()
    } catch {
        throw .store("\(error)")
    }
}

func administrationErrors<Result>(
    _ body: () async throws(KeyRegistryError) -> Result
) async throws(OperatorError) -> Result {
    do throws(KeyRegistryError) {
        return try await body()
    } catch {
        throw .store("\(error)")
    }
}
