import Dispatch
import GRDB
package import KeyStore

/// Families of refresh tokens, with the connections that `SQLiteKeyDatabase` describes. Each change reads, applies the
/// rule that all stores share, and writes, in one transaction that waits for the disk.
extension SQLiteKeyDatabase {
    /// When the store is opened: ends all families of an older copy.
    func checkRefreshPlace() throws(KeyRegistryError) {
        let known = try refreshPlace.read()
        let isRight = try administration.use { database in
            try RefreshTable.isEmpty(in: database)
                || RefreshPlace.accepts(RefreshTable.history(in: database), after: known)
        }
        guard !isRight else { return }
        try administer(until: nil) { try RefreshTable.beginAnew(in: $0) }
        refreshPlace.remove()
    }

    /// - parameter deadline: as for `enrol`. The calls below have it too.
    func begin(
        _ family: RefreshFamily, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> RefreshBeginning {
        guard family.isWellFormed else { throw .unavailable("the family of refresh tokens is malformed") }
        return try change(until: deadline) { database in
            guard let account = try AccountTable.standing(of: family.account, from: database), !account.isClosed,
                try isThere(family.beginner, of: family.account, in: database)
            else { return .ended }
            try refreshPlace.begin(RefreshTable.history(in: database))
            let known = try RefreshTable.all(of: family.account, from: database)
            for old in known.prefix(max(0, known.count - RefreshLimits.maximumFamilies + 1)) {
                _ = try RefreshTable.end(.family(old.id), at: family.beganAt, in: database)
            }
            try RefreshTable.insert(family, into: database)
            return .begun
        }
    }

    func use(
        _ use: RefreshUse, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> RefreshOutcome {
        try change(until: deadline) { database in
            guard let known = try RefreshTable.fetch(use.family, from: database),
                let account = try AccountTable.standing(of: known.account, from: database),
                try isThere(known.beginner, of: known.account, in: database)
            else { return .unknown }
            switch known.using(use) {
            case .rotated(let family):
                try RefreshTable.update(family, in: database)
                try RefreshTable.noteChange(in: database)
                return .rotated(RefreshGrant(family, of: account))
            case .repeated(let family, let sealed):
                if family != known {
                    try RefreshTable.update(family, in: database)
                    try RefreshTable.noteChange(in: database)
                }
                return .repeated(RefreshGrant(family, of: account), sealed: sealed)
            case .expired: return .expired
            case .wrongKey: return .wrongKey(known.account)
            case .repeatedTooOften: return .repeatedTooOften(known.account)
            case .reused:
                _ = try RefreshTable.end(.family(known.id), at: use.time, in: database)
                return .reused(known.account)
            }
        }
    }

    func end(
        _ families: RefreshEnding, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Int {
        try change(until: deadline) { try RefreshTable.end(families, at: time, in: $0) }
    }

    func expireFamilies(at time: Int64, until deadline: DispatchTime? = nil) throws(KeyRegistryError) -> Int {
        guard try readers.use({ try RefreshTable.hasExpired(at: time, in: $0) }) else { return 0 }
        return try administer(until: deadline) { try RefreshTable.removeExpired(at: time, in: $0) }
    }

    func families(of account: AccountID) throws(KeyRegistryError) -> [RefreshFamily] {
        try readers.use { try RefreshTable.all(of: account, from: $0) }
    }

    /// A durable transaction that may use or end families.
    func change<Result>(
        until deadline: DispatchTime?, _ body: (Database) throws -> Result
    ) throws(KeyRegistryError) -> Result {
        var history: (before: RefreshHistory, after: RefreshHistory)?
        let result = try administer(until: deadline) { database in
            let before = try RefreshTable.history(in: database)
            let result = try body(database)
            history = (before, try RefreshTable.history(in: database))
            return result
        }
        if let history, history.before != history.after { refreshPlace.note(history.after) }
        return result
    }

    /// Programs that know no families remove passkeys and devices, too.
    private func isThere(_ beginner: RefreshBeginner, of account: AccountID, in database: Database) throws -> Bool {
        switch beginner {
        case .passkey(let mark): try AccountTable.owner(of: mark, in: database) == account
        case .device(let key):
            try AccountTable.owner(of: key, in: database) == account
                && DeviceKeyTable.standing(of: key, from: database)?.isRevoked != true
        }
    }
}

/// On the thread of changes, but for what only reads.
extension SQLiteKeyRegistry: RefreshStore {
    package func begin(_ family: RefreshFamily) async throws(KeyRegistryError) -> RefreshBeginning {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.begin(family, until: deadline)
        }
    }

    /// No other gateway shares the file, so a proof has no mark here.
    package func use(
        _ use: RefreshUse, spending _: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> RefreshOutcome {
        try await write { database, deadline throws(KeyRegistryError) in try database.use(use, until: deadline) }
    }

    package func end(_ families: RefreshEnding, at time: Int64) async throws(KeyRegistryError) -> Int {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.end(families, at: time, until: deadline)
        }
    }

    package func expireFamilies(at time: Int64) async throws(KeyRegistryError) -> Int {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.expireFamilies(at: time, until: deadline)
        }
    }

    package func families(of account: AccountID) async throws(KeyRegistryError) -> [RefreshFamily] {
        try await read { database throws(KeyRegistryError) in try database.families(of: account) }
    }
}
