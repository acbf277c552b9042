import KeyStore
import PostgreSQL

/// Something that has ended together with what was signed in with it: an account that was closed or removed, a passkey or
/// a device that was removed, or a family of refresh tokens that was ended.
struct EndedSubject: Hashable, Sendable {
    enum Kind: Int64, Sendable, CaseIterable {
        case account = 1
        case passkey = 2
        /// ``DeviceDeparture/bytes``
        case departure = 3
        case family = 4

        /// In the feed.
        var change: StoreChanges.Kind {
            switch self {
            case .account: .account
            case .passkey: .passkey
            case .departure: .departure
            case .family: .family
            }
        }
    }

    let kind: Kind
    let bytes: [UInt8]

    init(_ kind: Kind, _ bytes: [UInt8]) { (self.kind, self.bytes) = (kind, bytes) }

    /// Of its first two columns.
    init(_ row: SQLRow) throws(DatabaseError) {
        guard let kind = Kind(rawValue: try row.integer(0)) else { throw .malformed }
        (self.kind, bytes) = (kind, try row.bytes(1))
    }
}

extension StoreRevocations {
    /// Of another length it is nobody's, and doesn't keep the others from being heard of.
    mutating func note(_ ended: EndedSubject) {
        switch ended.kind {
        case .account: if let id = AccountID(bytes: ended.bytes) { accounts.insert(id) }
        case .passkey: if let mark = PasskeyMark(bytes: ended.bytes) { passkeys.insert(mark) }
        case .departure: if let departure = DeviceDeparture(bytes: ended.bytes) { departures.insert(departure) }
        case .family: if let id = RefreshFamilyID(bytes: ended.bytes) { families.insert(id) }
        }
    }

    mutating func forget(_ ended: EndedSubject) {
        switch ended.kind {
        case .account: if let id = AccountID(bytes: ended.bytes) { accounts.remove(id) }
        case .passkey: if let mark = PasskeyMark(bytes: ended.bytes) { passkeys.remove(mark) }
        case .departure: if let departure = DeviceDeparture(bytes: ended.bytes) { departures.remove(departure) }
        case .family: if let id = RefreshFamilyID(bytes: ended.bytes) { families.remove(id) }
        }
    }
}

extension PostgreSQLKeyRegistry {
    /// What has ended within so many milliseconds, by the clock of the store, page by page.
    func ended(
        within milliseconds: Int64, after last: EndedSubject?
    ) async throws(KeyRegistryError) -> [EndedSubject] {
        let values: [SQLValue] = [
            .integer(last?.kind.rawValue ?? 0), .bytes(last?.bytes ?? []), .integer(milliseconds),
        ]
        return try await answer(.ended, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try EndedSubject(row) }
        }
    }

    /// - Parameter subjects: at most as many as the feed tells at once.
    func ended(
        among subjects: [[UInt8]], _ kind: EndedSubject.Kind
    ) async throws(KeyRegistryError) -> [EndedSubject] {
        let values: [SQLValue] = [.integer(kind.rawValue), .array(of: .bytes, subjects.map { .bytes($0) })]
        return try await answer(.endedAmong, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try EndedSubject(row) }
        }
    }
}

extension SQLStatement {
    private static let endedAtOnce = 10_000

    fileprivate static let ended = SQLStatement(
        "ended", maximumRows: endedAtOnce,
        """
        SELECT kind, subject FROM portcullis.account_end
        WHERE kind IN (1, 2, 3, 4) AND (kind, subject) > ($1::int8, $2::bytea)
            AND ended_at >= portcullis.milliseconds(clock_timestamp()) - $3::int8
        ORDER BY kind, subject LIMIT \(endedAtOnce)
        """)
    fileprivate static let endedAmong = SQLStatement(
        "ended_among", maximumRows: endedAtOnce,
        "SELECT kind, subject FROM portcullis.account_end WHERE kind = $1::int8 AND subject = ANY ($2::bytea[])")
}
