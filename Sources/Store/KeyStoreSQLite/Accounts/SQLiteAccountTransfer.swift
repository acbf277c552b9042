import GRDB
package import KeyStore

/// Accounts of a file on their way to another store, and from there.
extension SQLiteKeyDatabase {
    package func transferableAccounts(after: AccountID?, limit: Int) throws(KeyRegistryError) -> [Account] {
        try accounts(after: after, limit: limit)
    }

    package func transferableRemovals(
        after: AccountRemoval?, limit: Int
    ) throws(KeyRegistryError) -> [AccountRemoval] {
        try readers.use { try AccountEndTable.removals(after: after, limit: limit, in: $0) }
    }

    package func complete(removals: [AccountRemoval]) throws(KeyRegistryError) {
        try change(until: nil) { database in
            for removal in removals { try Self.complete(removal, in: database) }
        }
    }

    /// Gateways look for what is new: what ends here now ends now.
    private static func complete(_ removal: AccountRemoval, in database: Database) throws {
        switch removal.subject {
        case .account(let id):
            let wasHere = try AccountTable.delete(id, from: database)
            let time = wasHere ? SQLiteRevocations.now : removal.time
            _ = try RefreshTable.end(.account(id), at: time, in: database)
            try AccountEndTable.note(id, at: time, in: database)
        case .passkey(let mark):
            let owner = try AccountTable.owner(of: mark, in: database)
            let time = owner == nil ? removal.time : SQLiteRevocations.now
            if let owner {
                _ = try AccountTable.remove(mark, of: owner, in: database)
                _ = try RefreshTable.end(.passkey(mark), at: time, in: database)
            }
            try AccountEndTable.note(mark, at: time, in: database)
        }
    }

    package func complete(accounts: [Account]) throws(KeyRegistryError) {
        try administer(until: nil) { database in
            for account in accounts { try Self.complete(account, in: database) }
        }
    }

    private static func complete(_ account: Account, in database: Database) throws {
        let known = try AccountTable.fetch(account.id, from: database)
        if known == nil, try AccountEndTable.has(account.id, in: database) { return }
        let taken = try account.passkeys.map(\.mark).filter { mark in
            if try AccountEndTable.has(mark, in: database) { return true }
            return try AccountTable.owner(of: mark, in: database).map { $0 != account.id } ?? false
        }
        let keys = try account.devices.map(\.key).filter { key in
            guard try DeviceKeyTable.fetch(key, from: database).map({ !$0.isErased }) ?? false else { return false }
            return try AccountTable.owner(of: key, in: database).map { $0 == account.id } ?? true
        }
        let given = account.without(Set(taken), keeping: Set(keys))
        let completed = known?.completed(by: given) ?? given
        guard completed != known else { return }
        _ = try AccountTable.delete(account.id, from: database)
        try AccountTable.insert(completed, into: database)
        guard let time = completed.closedAt else { return }
        let isOpenHere = known.map { !$0.isClosed } ?? false
        try AccountEndTable.note(account.id, at: isOpenHere ? SQLiteRevocations.now : time, in: database)
    }
}
