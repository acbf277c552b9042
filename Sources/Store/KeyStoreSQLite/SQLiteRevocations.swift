import BlockingWork
import FoundationEssentials
import GRDB
package import KeyStore
import Synchronization

/// The revocations of a store, made for polling: a call is almost free as long as nothing was revoked.
///
/// SQLite's change counter shows whether something was written; a clock could jump. The store's own marks
/// (`SQLiteRevisions`) show what, and only that is read. This type has its own connection and thread, so neither a
/// writer nor a call that waits for the disk delays it.
package final class SQLiteRevocations: RevocationSource {
    private let connection: SQLiteConnectionPool
    private let seen = Mutex(Seen())
    private let thread: BlockingThreads
    private let limits: SQLiteKeyDatabase.Limits

    /// As of the last look.
    private struct Seen {
        /// SQLite's `data_version`; it changes with every commit of any other connection.
        var version: Int64?
        /// Unix milliseconds; nil: never.
        var time: Int64?
        /// Nil: nothing was read yet.
        var revisions: SQLiteRevisions?
        var revocations = StoreRevocations()
        /// What of it has ended with accounts, and up to which change of that.
        var ends = RememberedEnds()
        var position: AccountEndChanges.Position?
        /// The rest of the ends that are read again: behind which one, and since when; nil: there is none. There may be
        /// a million: an answer has a part of them, and the next ones the rest.
        var rest: (after: EndedSubject?, since: Int64)?
        /// Pages of ends that were read.
        var pages = 0
        /// Changes were missed while the ends were read again, so they are read once more afterwards: since when.
        var again: Int64?

        mutating func readEndsAgain(since: Int64) {
            ends.forgetAll(in: &revocations)
            (rest, again) = ((nil, since), nil)
        }
    }

    package convenience init(of registry: SQLiteKeyRegistry) throws(KeyRegistryError) {
        try self.init(of: registry.database)
    }

    init(of database: SQLiteKeyDatabase) throws(KeyRegistryError) {
        limits = database.limits
        thread = BlockingThreads("keys-revoked", maximumWaiting: limits.maximumWaitingCalls)
        connection = try SQLiteConnectionPool(
            SQLiteStoreFile(path: database.path, creating: false), access: .readOnly, size: 1,
            busyMilliseconds: limits.busyMilliseconds)
    }

    /// All current revocations; nil if they haven't changed since the last answer.
    package func ifChanged() async throws(KeyRegistryError) -> StoreRevocations? {
        try await thread.answer(limits) { [self] _ throws(KeyRegistryError) in try look() }
    }

    /// Unix milliseconds.
    static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    /// The same, on the caller's thread.
    func look(at time: Int64 = SQLiteRevocations.now) throws(KeyRegistryError) -> StoreRevocations? {
        let last = seen.withLock { $0 }
        var present = try connection.use { try Self.read($0, after: last, at: time) }
        present.time = time
        seen.withLock { $0 = present }
        return present.revisions == last.revisions && present.pages == last.pages ? nil : present.revocations
    }

    /// Marks are read before what they stand for, so that the next look notices what is written in between.
    private static func read(_ database: Database, after last: Seen, at time: Int64) throws -> Seen {
        var present = last
        present.version = try Int64.fetchOne(database.cachedStatement(sql: "PRAGMA data_version"))
        let hasMore = last.rest != nil || last.again != nil
        guard present.version == nil || present.version != last.version || hasMore else { return last }
        let revisions = try SQLiteRevisions(in: database)
        present.revisions = revisions
        if revisions.keys != last.revisions?.keys {
            present.revocations.keys = try DeviceKeyTable.revoked(in: database)
        }
        if revisions.tokens != last.revisions?.tokens {
            present.revocations.grants = try DevelopmentTokenTable.revoked(in: database)
        }
        // What was noted before has been told.
        if present.rest != nil { present.ends.forgetOld(at: time, in: &present.revocations) }
        if present.rest == nil, let since = present.again { present.readEndsAgain(since: since) }
        if revisions.accountEnds != last.revisions?.accountEnds { try readEnds(database, &present, at: time) }
        while try readRest(database, &present, at: time) {}
        if revisions.signingKeys != last.revisions?.signingKeys {
            present.revocations.signingKeys = try SigningKeyTable.keys(in: database)
        }
        return present
    }

    private static func readEnds(_ database: Database, _ seen: inout Seen, at time: Int64) throws {
        seen.ends.forgetOld(at: time, in: &seen.revocations)
        if let known = seen.position, let changes = try AccountEndChanges(after: known, in: database) {
            for subject in Set(changes.subjects) {
                if try subject.kind.isFinal || AccountEndTable.has(subject, in: database) {
                    seen.ends.note(subject, at: time, in: &seen.revocations)
                } else {
                    seen.ends.forget(subject, in: &seen.revocations)
                }
            }
            seen.position = changes.position
            return
        }
        seen.position = try AccountEndChanges.newest(in: database)
        // Of the last hour before this look, and before the last one: the clock may have jumped.
        let since = min(time, seen.time ?? time) - AccountLimits.endRememberedMilliseconds
        // A round that has begun ends first: changes may be missed at every look while an operator ends all.
        guard seen.rest != nil else { return seen.readEndsAgain(since: since) }
        seen.again = min(seen.again ?? since, since)
    }

    /// - Returns: false where there is nothing more to read now.
    private static func readRest(_ database: Database, _ seen: inout Seen, at time: Int64) throws -> Bool {
        guard let (last, since) = seen.rest, seen.ends.count <= RememberedEnds.maximum else { return false }
        let page = try AccountEndTable.page(since: since, after: last, in: database)
        for subject in page { seen.ends.note(subject, at: time, in: &seen.revocations) }
        seen.rest = page.last.map { ($0, since) }
        if !page.isEmpty { seen.pages += 1 }
        return seen.rest != nil
    }
}
