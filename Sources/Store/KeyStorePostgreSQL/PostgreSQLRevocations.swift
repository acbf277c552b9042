package import KeyStore
import PostgreSQL

/// The revocations of a fleet's store, made for polling: a call reads what has changed since the last one.
///
/// Changes have numbers in the order of their commits. Whoever has missed some, because they were forgotten or because
/// the store has another incarnation and may have gone back, reads everything again. After an error a call goes on
/// where the last one has come to: a change has the present state read of what it names, so reading it twice does no
/// harm. Where all is read again, there may be a million ends, of families that an operator has ended: an answer has a
/// part of them, and the next ones the rest.
package actor PostgreSQLRevocations: StoreFeed {
    private let registry: PostgreSQLKeyRegistry
    /// Up to where the changes are known.
    private var position: (incarnation: StoreIncarnation, seq: Int64)?
    private var known = StoreRevocations()
    /// What of it has ended.
    private var ends = RememberedEnds()
    /// The rest of the ends that are read again; nil: there is none.
    private var rest: Rest?
    private struct Rest {
        var after: DatedEnd?
        /// How old the first may be now, in milliseconds: the time since the load counts, too.
        let period, since: Int64
    }

    private let began = ContinuousClock.now
    /// The last answer of the store.
    private var answered: ContinuousClock.Instant?
    private var unreadable = 0
    /// What was read and not yet told, because the call ended with an error.
    private var untold = StoreNews()
    /// A call is under way, which mustn't be joined by another.
    private var isBusy = false

    package init(of registry: PostgreSQLKeyRegistry) { self.registry = registry }

    /// A notification tells of a change at once, and each heartbeat asks again: a call of its own is for a gateway
    /// whose heartbeats fail.
    package nonisolated var longestPause: Duration { .milliseconds(1_200) }

    package func ifChanged() async throws(KeyRegistryError) -> StoreRevocations? {
        guard let news = try await news() else { return nil }
        told()
        return news.revocations
    }

    package func news(
        _ learn: @Sendable (StorePresent) -> Void
    ) async throws(KeyRegistryError) -> StoreNews? {
        guard !isBusy else { return nil }
        isBusy = true
        defer { isBusy = false }
        var changes = try await nextChanges()
        learn(changes.present)
        while try await apply(part: changes) { changes = try await nextChanges() }
        do throws(KeyRegistryError) {
            while try await readRest() {}
        } catch {
            // What was read before is told all the same, and the next call goes on with the rest.
            guard untold.revocations != nil else { throw error }
        }
        defer { untold = StoreNews() }
        return untold
    }

    package func told() {
        guard !isBusy else { return }
        ends.forgetOld(at: time, in: &known)
    }

    private func nextChanges() async throws(KeyRegistryError) -> StoreChanges {
        try await registry.changes(after: position?.seq ?? 0)
    }

    /// Applies a part of the feed, or reads everything.
    ///
    /// - Returns: false at the feed's end.
    private func apply(part changes: StoreChanges) async throws(KeyRegistryError) -> Bool {
        if let current = position, changes.continues(current) {
            guard let last = changes.entries.last else {
                answered = .now
                return false
            }
            try await apply(changes)
            untold.note(changes)
            position = (changes.present.incarnation, last.seq)
        } else {
            try await load()
            untold.noteEverything()
            position = (changes.present.incarnation, changes.newest)
        }
        untold.noteRevocations(known, unreadableSigningKeys: unreadable)
        return true
    }

    /// Milliseconds since this was made.
    private var time: Int64 {
        let age = began.duration(to: .now).components
        return age.seconds * 1_000 + age.attoseconds / 1_000_000_000_000_000
    }

    private func load() async throws(KeyRegistryError) {
        var (all, last) = (StoreRevocations(), KeyID?.none)
        while true {
            let page = try await registry.revokedKeys(after: last)
            guard let end = page.last else { break }
            all.keys.formUnion(page)
            last = end
        }
        all.grants = try await registry.revokedGrants()
        try await loadSigningKeys(&all)
        known = all
        ends.forgetAll(in: &known)
        // All of the last hour, and of the time in which the store didn't answer.
        let silence = answered.map { $0.duration(to: .now).components.seconds } ?? 0
        rest = Rest(period: AccountLimits.endRememberedMilliseconds + silence * 1_000, since: time)
    }

    /// Reads a part of the rest, if as many as are remembered are told.
    ///
    /// - Returns: false where there is nothing more to read now.
    private func readRest() async throws(KeyRegistryError) -> Bool {
        guard let present = rest, ends.count <= RememberedEnds.maximum else { return false }
        let page = try await registry.ended(within: present.period + time - present.since, after: present.after)
        guard let end = page.last else {
            rest = nil
            return false
        }
        for end in page { ends.note(end.subject, at: time, in: &known) }
        rest?.after = end
        untold.noteRevocations(known, unreadableSigningKeys: unreadable)
        return true
    }

    private func loadSigningKeys(_ revocations: inout StoreRevocations) async throws(KeyRegistryError) {
        let (keys, unreadable) = try await registry.loadSigningKeys()
        revocations.signingKeys = keys
        self.unreadable = unreadable
    }

    private func apply(_ changes: StoreChanges) async throws(KeyRegistryError) {
        let keys = changes.entries.filter { $0.kind == .key }.compactMap { KeyID(bytes: $0.subject) }
        if !keys.isEmpty {
            let revoked = try await registry.revoked(among: Array(Set(keys)))
            known.keys.subtract(keys)
            known.keys.formUnion(revoked)
        }
        for kind in EndedSubject.Kind.allCases {
            let subjects = changes.entries.filter { $0.kind == kind.change }.map(\.subject)
            guard !subjects.isEmpty else { continue }
            let ended =
                kind.isFinal
                ? subjects.map { EndedSubject(kind, $0) } : try await registry.ended(among: Array(Set(subjects)), kind)
            if kind == .departure {
                // It may have joined again.
                for subject in subjects { ends.forget(EndedSubject(.departure, subject), in: &known) }
            }
            for subject in ended { ends.note(subject, at: time, in: &known) }
        }
        if changes.entries.contains(where: { $0.kind == .token }) {
            known.grants = try await registry.revokedGrants()
        }
        if changes.entries.contains(where: { $0.kind == .signingKeys }) {
            var all = known
            try await loadSigningKeys(&all)
            known = all
        }
    }
}

/// A part of the feed.
struct StoreChanges: Sendable {
    struct Entry: Sendable {
        let seq: Int64
        let kind: Kind?
        let subject: [UInt8]
    }

    /// What `portcullis.note` is called with. Later versions may add others.
    enum Kind: Int64, Sendable {
        case key = 1
        case token = 2
        case signingKeys = 3
        case blockList = 4
        /// Its passkeys have changed, or it was closed or removed.
        case account = 5
        /// It was removed.
        case passkey = 6
        /// A device was removed from its account, or has joined it again: ``DeviceDeparture/bytes``.
        case departure = 7
        /// Of refresh tokens: it was ended: ``RefreshFamilyEnd/bytes``.
        case family = 8
    }

    let present: StorePresent
    let forgottenThrough: Int64
    let newest: Int64
    let entries: [Entry]

    func continues(_ position: (incarnation: StoreIncarnation, seq: Int64)) -> Bool {
        present.incarnation == position.incarnation && position.seq >= forgottenThrough
    }
}

extension StoreNews {
    fileprivate mutating func note(_ changes: StoreChanges) {
        for entry in changes.entries {
            switch entry.kind {
            case .key: if let key = KeyID(bytes: entry.subject) { noteKey(key) }
            case .token: noteTokens()
            case .blockList: noteBlockList()
            case .account: if let account = AccountID(bytes: entry.subject) { noteAccount(account) }
            case .signingKeys, .passkey, .departure, .family, nil: break
            }
        }
    }
}

extension PostgreSQLKeyRegistry {
    func changes(after seq: Int64) async throws(KeyRegistryError) -> StoreChanges {
        try await answer(.changes, [.integer(seq), .integer(SQLStatement.changesAtOnce)]) {
            rows throws(DatabaseError) in
            guard let first = rows.first else { throw .malformed }
            let entries = try rows.map { row throws(DatabaseError) -> StoreChanges.Entry? in
                guard let seq = try row.optionalInteger(5) else { return nil }
                return StoreChanges.Entry(
                    seq: seq, kind: StoreChanges.Kind(rawValue: try row.integer(6)), subject: try row.bytes(7))
            }
            return StoreChanges(
                present: try StorePresent(first), forgottenThrough: try first.integer(3),
                newest: try first.integer(4), entries: entries.compactMap(\.self))
        }
    }

    func revokedKeys(after last: KeyID?) async throws(KeyRegistryError) -> [KeyID] {
        try await answer(.revokedKeys, [.bytes(last?.bytes ?? [])]) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try row.keyID(0) }
        }
    }

    func revoked(among keys: [KeyID]) async throws(KeyRegistryError) -> [KeyID] {
        try await answer(.revokedAmong, [.array(of: .bytes, keys.map { .bytes($0.bytes) })]) {
            rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try row.keyID(0) }
        }
    }

    func revokedGrants() async throws(KeyRegistryError) -> Set<String> {
        try await answer(.revokedGrants) { rows throws(DatabaseError) in
            Set(try rows.map { row throws(DatabaseError) in try row.text(0) })
        }
    }
}

extension SQLStatement {
    fileprivate static let changesAtOnce: Int64 = 1_000
    private static let revokedAtOnce = 10_000

    /// Present, position and entries in one statement, and so of one moment; at least one row.
    fileprivate static let changes = SQLStatement(
        "changes", maximumRows: Int(changesAtOnce),
        """
        WITH \(presentTerms)
        SELECT p.incarnation, p.began, p.time, f.forgotten_through,
            coalesce((SELECT max(n.seq) FROM portcullis.changes n), f.forgotten_through), c.seq, c.kind, c.subject
        FROM present p CROSS JOIN portcullis.feed f LEFT JOIN LATERAL (
            SELECT e.seq, e.kind, e.subject FROM portcullis.changes e WHERE e.seq > $1::int8
            ORDER BY e.seq LIMIT $2::int8) c ON true
        ORDER BY c.seq
        """)
    fileprivate static let revokedKeys = SQLStatement(
        "revoked_keys", maximumRows: revokedAtOnce,
        """
        SELECT key_id FROM portcullis.device_key WHERE revoked_at IS NOT NULL AND key_id > $1::bytea
        ORDER BY key_id LIMIT \(revokedAtOnce)
        """)
    fileprivate static let revokedAmong = SQLStatement(
        "revoked_among", maximumRows: Int(changesAtOnce),
        "SELECT key_id FROM portcullis.device_key WHERE key_id = ANY ($1::bytea[]) AND revoked_at IS NOT NULL")
    fileprivate static let revokedGrants = SQLStatement(
        "revoked_grants", maximumRows: DevelopmentTokenLimits.maximumTokens,
        "SELECT id FROM portcullis.development_token WHERE revoked_at IS NOT NULL")
}
