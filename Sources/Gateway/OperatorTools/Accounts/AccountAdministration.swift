package import FoundationEssentials
import KeyStore
package import Settings

/// The operator's administration of players' accounts, on a store that a gateway may be using at the same time.
package struct AccountAdministration {
    private let store: any AdministrableStore

    /// - Parameter location: an existing store; it isn't created.
    package init(_ location: StoreLocation) throws(OperatorError) {
        store = try location.open(without: "no accounts yet")
    }

    init(_ store: any AdministrableStore) { self.store = store }

    /// Calls `show` with a line for each account, in the order of their identifiers.
    ///
    /// - Returns: how many there are.
    package func list(json: Bool = false, _ show: (String) -> Void) async throws(OperatorError) -> Int {
        var (last, count): (AccountID?, Int) = (nil, 0)
        while true {
            let accounts = try await administrationErrors { [last] () async throws(KeyRegistryError) in
                try await store.accounts(after: last, limit: AccountLimits.largestPage)
            }
            guard let end = accounts.last else { return count }
            for account in accounts.map(AccountDescription.init) { show(json ? account.summary : account.line) }
            count += accounts.count
            last = end.id
        }
    }

    /// - Returns: all data of the account: one item per line, or one JSON object.
    package func show(_ account: String, json: Bool = false) async throws(OperatorError) -> String {
        let id = try parse(account)
        let found = try await administrationErrors { () async throws(KeyRegistryError) in try await store.account(id) }
        guard let found else { throw .unknownAccount }
        return json ? AccountDescription(found).json : AccountDescription(found).full
    }

    /// For good. The account stays, so that everybody can see that it is closed.
    package func close(_ account: String, at time: Date) async throws(OperatorError) {
        let id = try parse(account)
        let isKnown = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.close(id, at: Self.milliseconds(time))
        }
        guard isKnown else { throw .unknownAccount }
    }

    /// With its passkeys. Its devices stay registered.
    ///
    /// - Returns: whether it is overwritten in the store's own log, too.
    package func forget(_ account: String, at time: Date) async throws(OperatorError) -> Bool {
        let id = try parse(account)
        let isKnown = try await administrationErrors { () async throws(KeyRegistryError) in
            try await store.forget(id, at: Self.milliseconds(time))
        }
        guard isKnown else { throw .unknownAccount }
        // It is forgotten, whatever becomes of the log.
        return (try? await store.emptyLog()) ?? false
    }

    private func parse(_ text: String) throws(OperatorError) -> AccountID {
        guard let id = AccountID(text: text) else { throw .malformedAccount }
        return id
    }

    private static func milliseconds(_ time: Date) -> Int64 { Int64(time.timeIntervalSince1970 * 1_000) }
}

extension OperatorError {
    private static let allAccounts = "portcullis accounts list shows all."

    static let malformedAccount = OperatorError(
        "this is no account: it is 32 hexadecimal digits in lower case", hint: allAccounts)
    static let unknownAccount = OperatorError("no such account", hint: allAccounts)
}
