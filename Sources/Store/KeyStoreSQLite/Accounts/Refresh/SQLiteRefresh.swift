import Dispatch
import GRDB
package import KeyStore

/// Families of refresh tokens, with the connections that `SQLiteKeyDatabase` describes. Each change reads, applies the
/// rule that all stores share, and writes, in one transaction that waits for the disk.
extension SQLiteKeyDatabase {
    /// When the store is opened: ends all families of an older copy. One without any gets another history, too: those
    /// that begin in it would follow uses that it doesn't have.
    func checkRefreshPlace() throws(KeyRegistryError) {
        guard try !administration.use({ try isRefreshPlaceRight($0) }) else { return renewRefreshPlace() }
        try administer(until: nil) { database in
            // Another process may have committed the first family meanwhile.
            guard try !isRefreshPlaceRight(database) else { return }
            try RefreshTable.beginAnew(in: database)
            refreshPlace.remove()
        }
    }

    private func isRefreshPlaceRight(_ database: Database) throws -> Bool {
        let known = try refreshPlace.read()
        let stored = try RefreshTable.history(in: database)
        if known == nil, stored.changes == 0, try RefreshTable.isEmpty(in: database) { return true }
        return RefreshPlace.accepts(stored, after: known)
    }

    /// When the store is closed.
    func leaveRefreshPlace() {
        if refreshPlace.isRenewed { renewRefreshPlace() }
    }

    /// Not where the lock is taken for long. Where a draft was left, the first transaction removes it.
    private func renewRefreshPlace() {
        guard refreshPlace.isMadeAnew, (try? refreshPlace.read()) != nil else { return }
        for _ in 0..<2 {
            let draft = refreshDraft(until: nil)
            try? administration.transaction(until: .now() + .milliseconds(limits.busyMilliseconds)) { database in
                refreshPlace.renew(try RefreshTable.history(in: database), by: draft)
            }
            if draft != nil { return }
        }
    }

    private func refreshDraft(until deadline: DispatchTime?) -> RefreshDraft? {
        let history = try? administration.use(until: deadline) { try RefreshTable.history(in: $0) }
        return history.flatMap(refreshPlace.draft)
    }

    /// In a transaction of ``change(until:_:)``, as the two below.
    func begin(_ family: RefreshFamily, in database: Database) throws -> RefreshBeginning {
        guard let account = try AccountTable.bareStanding(of: family.account, from: database), !account.isClosed,
            try isThere(family.beginner, of: family.account, in: database)
        else { return .ended }
        try add(family, in: database)
        return .begun
    }

    func signIn(_ signIn: PasskeySignIn, in database: Database) throws -> PasskeySpending {
        let outcome = try AccountTable.record(signIn.use, of: signIn.family.account, in: database)
        if outcome == .used { try add(signIn.family, in: database) }
        return outcome
    }

    private func add(_ family: RefreshFamily, in database: Database) throws {
        let (history, count) = try RefreshTable.history(countingFamiliesOf: family.account, in: database)
        try refreshPlace.begin(history)
        if count >= RefreshLimits.maximumFamilies {
            for id in try RefreshTable.idle(of: family.account, from: database) {
                _ = try RefreshTable.end(.family(id), at: family.beganAt, in: database)
            }
        }
        try RefreshTable.insert(family, into: database)
    }

    func use(_ use: RefreshUse, in database: Database) throws -> RefreshOutcome {
        guard let known = try RefreshTable.fetch(use.family, from: database),
            let account = try AccountTable.bareStanding(of: known.account, from: database),
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

    /// - parameter deadline: as for `enrol`. The calls below have it too.
    func end(
        _ families: RefreshEnding, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> Int {
        try change(until: deadline) { try RefreshTable.end(families, at: time, in: $0) }
    }

    /// A part of all, so that nobody waits long for SQLite's lock.
    func endPage(
        after last: RefreshFamilyID?, at time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> [RefreshFamilyID] {
        try change(until: deadline) { try RefreshTable.endPage(after: last, at: time, in: $0) }
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
        let isDue = refreshPlace.isDue()
        let draft = isDue ? refreshDraft(until: deadline) : nil
        let result = try administer(until: deadline) { database in
            let before = try RefreshTable.history(in: database)
            if isDue { refreshPlace.renew(before, by: draft) }
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

/// On the thread of changes, but for what only reads. What clients do again and again is committed together.
extension SQLiteKeyRegistry: RefreshStore {
    /// What has waited too long isn't done (``SQLiteSharedCommits``), as below.
    package func begin(
        _ family: RefreshFamily, askedAt _: Int64?
    ) async throws(KeyRegistryError) -> RefreshBeginning {
        guard family.isWellFormed else { throw Self.malformedFamily }
        return try await commits.change { [database] in try database.begin(family, in: $0) }
    }

    /// One gateway alone issues the challenges, and knows which are spent.
    package func signIn(
        _ signIn: PasskeySignIn, spending marks: SignInMarks
    ) async throws(KeyRegistryError) -> PasskeySigningIn {
        guard marks.proof == nil, marks.challenge == nil else { throw Self.knowsNoMarks }
        guard signIn.family.isWellFormed else { throw Self.malformedFamily }
        return .passkey(try await commits.change { [database] in try database.signIn(signIn, in: $0) })
    }

    /// No other gateway shares the file, so a proof has no mark here.
    package func use(
        _ use: RefreshUse, spending _: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> RefreshOutcome {
        try await commits.change { [database] in try database.use(use, in: $0) }
    }

    private static let malformedFamily = KeyRegistryError.unavailable("the family of refresh tokens is malformed")
    static let knowsNoMarks = KeyRegistryError.unavailable("the store of one gateway spends no marks")

    package func end(_ families: RefreshEnding, at time: Int64) async throws(KeyRegistryError) -> Int {
        guard families != .all else { return try await endAll(at: time) }
        return try await write { database, deadline throws(KeyRegistryError) in
            try database.end(families, at: time, until: deadline)
        }
    }

    /// Others write between the transactions. What begins meanwhile ends, or goes on.
    private func endAll(at time: Int64) async throws(KeyRegistryError) -> Int {
        var (last, count): (RefreshFamilyID?, Int) = (nil, 0)
        while true {
            let page = try await write { [last] database, deadline throws(KeyRegistryError) in
                try database.endPage(after: last, at: time, until: deadline)
            }
            guard let end = page.last else { return count }
            (last, count) = (end, count + page.count)
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
