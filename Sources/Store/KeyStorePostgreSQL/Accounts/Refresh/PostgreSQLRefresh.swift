package import KeyStore
import PostgreSQL

/// Families of refresh tokens. The functions say which history of the database they belong to (`RefreshMigration`), and
/// this gateway is their witness.
extension PostgreSQLKeyRegistry: RefreshStore {
    package func begin(
        _ family: RefreshFamily, askedAt: Int64?
    ) async throws(KeyRegistryError) -> RefreshBeginning {
        guard family.isWellFormed else { throw Self.malformedFamily }
        let values: [SQLValue] = [
            .bytes(family.id.bytes), .bytes(family.account.bytes), .integer(family.beginner.kind.rawValue),
            .bytes(family.beginner.bytes), .bytes(family.key), .bytes(family.hash), .integer(family.beganAt),
            .integer(family.expiresAt), latest(of: askedAt),
        ]
        return try await witnessed(.beginFamily, values, within: nil) { row throws(DatabaseError) in
            switch try row.integer(0) {
            case 0: return .begun
            case 1: return .ended
            default: throw .malformed
            }
        }
    }

    package func signIn(
        _ signIn: PasskeySignIn, spending marks: SignInMarks
    ) async throws(KeyRegistryError) -> PasskeySigningIn {
        let (use, family) = (signIn.use, signIn.family)
        guard family.isWellFormed else { throw Self.malformedFamily }
        let values: [SQLValue] = [
            .bytes(use.mark.bytes), .integer(Int64(use.signCount)), .integer(use.flags), .integer(use.time),
            .bytes(family.id.bytes), .bytes(family.account.bytes), .bytes(family.key), .bytes(family.hash),
            .integer(family.beganAt), .integer(family.expiresAt),
        ]
        let marked = Self.values(of: marks.proof) + Self.values(of: marks.challenge)
        let all = marked + values + [latest(of: marks.askedAt)]
        return try await witnessed(.signInAndBegin, all, within: nil) { row throws(DatabaseError) in
            if let proof = try row.spending(0), proof.refusesProof { return .proofRefused(proof) }
            if let challenge = try row.spending(1), challenge != .spent { return .passkey(.refused(challenge)) }
            return .passkey(try PasskeySpending(row, outcome: 2, stored: 3))
        }
    }

    private static let malformedFamily = KeyRegistryError.unavailable("the family of refresh tokens is malformed")

    /// Until when a statement is done, in the database's time: afterwards nobody waits for it. It may have been held up
    /// on its way.
    private func latest(of askedAt: Int64?) -> SQLValue {
        .optional(askedAt.map { $0 + Int64(driver.statementMilliseconds) })
    }

    private static func values(of mark: SignInMarks.Mark?) -> [SQLValue] {
        mark.map { $0.mark.values(in: $0.incarnation) } ?? [.null, .null, .null, .null]
    }

    package func use(
        _ use: RefreshUse, spending mark: (SingleUseMark, StoreIncarnation)?
    ) async throws(KeyRegistryError) -> RefreshOutcome {
        let values: [SQLValue] = [
            .bytes(use.family.bytes), .bytes(use.key), .bytes(use.hash), .bytes(use.successor), .bytes(use.sealed),
            .integer(use.time), .integer(use.expiresAt), .integer(use.repeatMilliseconds),
        ]
        let marked = Self.values(of: mark.map { (mark: $0.0, incarnation: $0.1) })
        let all = marked + values + [latest(of: use.askedAt)]
        let (outcome, isLate) = try await witnessed(.useFamily, all, within: nil) {
            row throws(DatabaseError) -> (RefreshOutcome, Bool) in
            (try RefreshOutcome(row, of: use.family), try row.integer(0) == Self.lateRepetition)
        }
        guard isLate, case .repeated(let grant, _) = outcome, try await !isFirstLateRepetition(use) else {
            return outcome
        }
        return .repeatedTooOften(grant.account.id)
    }

    /// The mark is a statement of its own, when the answer has arrived: a lost answer uses nothing up. It gives no
    /// answer that could be lost but this one. So where the store may have the mark or not (`.busy`) the client gets
    /// its token, though another repetition may get it, too. After other errors nothing is marked: it comes again.
    private func isFirstLateRepetition(_ use: RefreshUse) async throws(KeyRegistryError) -> Bool {
        let values: [SQLValue] = [.bytes(use.family.bytes), .bytes(use.hash)]
        do throws(KeyRegistryError) {
            return try await witnessed(.markRepeatedLate, values, within: nil) { row throws(DatabaseError) in
                try row.boolean(0)
            }
        } catch .busy {
            return true
        }
    }

    /// Of `portcullis.use_family`.
    fileprivate static let lateRepetition: Int64 = 8

    package func end(_ families: RefreshEnding, at time: Int64) async throws(KeyRegistryError) -> Int {
        let (statement, values): (SQLStatement, [SQLValue]) =
            switch families {
            case .family(let id): (.endFamily, [.bytes(id.bytes)])
            case .account(let id): (.endAccountFamilies, [.bytes(id.bytes)])
            case .passkey(let mark):
                (.endFamiliesOf, [.integer(RefreshBeginner.Kind.passkey.rawValue), .bytes(mark.bytes)])
            case .device(let key):
                (.endFamiliesOf, [.integer(RefreshBeginner.Kind.device.rawValue), .bytes(key.bytes)])
            case .all: (.endAllFamilies, [])
            }
        return try await witnessed(statement, values + [.integer(time)]) { row throws(DatabaseError) in
            Int(clamping: try row.integer(0))
        }
    }

    package func expireFamilies(at time: Int64) async throws(KeyRegistryError) -> Int {
        try await answer(.expireFamilies, [.integer(time), .integer(Int64(RefreshLimits.maximumExpired))]) {
            rows throws(DatabaseError) in
            Int(clamping: try rows.only().integer(0))
        }
    }

    package func families(of account: AccountID) async throws(KeyRegistryError) -> [RefreshFamily] {
        try await answer(.families, [.bytes(account.bytes)]) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try RefreshFamily(row) }
        }
    }
}

extension SQLRow {
    /// Of a mark; nil: there was none.
    fileprivate func spending(_ column: Int) throws(DatabaseError) -> MarkSpending? {
        try isNull(column) ? nil : try MarkSpending(self, column)
    }
}

extension RefreshOutcome {
    /// Reads the columns of `portcullis.use_family`.
    fileprivate init(_ row: SQLRow, of family: RefreshFamilyID) throws(DatabaseError) {
        switch try row.integer(0) {
        case 0: self = .rotated(try RefreshGrant(row, of: family))
        case 1, PostgreSQLKeyRegistry.lateRepetition:
            self = .repeated(try RefreshGrant(row, of: family), sealed: try row.bytes(4))
        case 2: self = .unknown
        case 3: self = .expired
        case 4: self = .wrongKey(try row.accountID(1))
        case 5: self = .repeatedTooOften(try row.accountID(1))
        case 6: self = .reused(try row.accountID(1))
        case 7: self = .refused(try MarkSpending(row, 9))
        default: throw .malformed
        }
    }
}

extension RefreshGrant {
    fileprivate init(_ row: SQLRow, of family: RefreshFamilyID) throws(DatabaseError) {
        let beginner = try RefreshBeginner(row, kind: 2, bytes: 3)
        let passkeys: Set<PasskeyMark> = if case .passkey(let mark) = beginner { [mark] } else { [] }
        self.init(
            account: AccountStanding(
                id: try row.accountID(1), origin: try row.origin(6, proof: 7), isClosed: try row.boolean(8),
                passkeys: passkeys, families: [family]),
            beginner: beginner, expiresAt: try row.integer(5))
    }
}

extension RefreshBeginner {
    fileprivate init(_ row: SQLRow, kind: Int, bytes: Int) throws(DatabaseError) {
        guard let kind = Kind(rawValue: try row.integer(kind)),
            let beginner = RefreshBeginner(kind, bytes: try row.bytes(bytes))
        else { throw .malformed }
        self = beginner
    }
}

extension RefreshFamily {
    fileprivate init(_ row: SQLRow) throws(DatabaseError) {
        guard let id = RefreshFamilyID(bytes: try row.bytes(0)) else { throw .malformed }
        let last =
            try row.isNull(6)
            ? nil
            : LastUse(
                hash: try row.bytes(6), sealed: try row.bytes(7), expiresAt: try row.integer(12),
                wasRepeatedLate: try row.boolean(8))
        self.init(
            id: id, account: try row.accountID(1), beginner: try RefreshBeginner(row, kind: 2, bytes: 3),
            key: try row.bytes(4), hash: try row.bytes(5), last: last, beganAt: try row.integer(9),
            usedAt: try row.integer(10), expiresAt: try row.integer(11))
        guard isWellFormed else { throw .malformed }
    }
}

extension SQLStatement {
    fileprivate static let beginFamily = SQLStatement(
        "begin_family", isDurable: true,
        """
        SELECT b.outcome, \(confirmed())
        FROM portcullis.begin_family($1::bytea, $2::bytea, $3::int8, $4::bytea, $5::bytea, $6::bytea, $7::int8,
            $8::int8, $9::int8, \(witness(from: 10))) AS b (outcome)
        \(confirmed(if: "b.outcome = 0"))
        """)
    fileprivate static let signInAndBegin = SQLStatement(
        "sign_in_and_begin", isDurable: true,
        """
        SELECT proof_spending, spending, outcome, stored, \(confirmed())
        FROM portcullis.sign_in_and_begin($1::bytea, $2::int8, $3::bytea, $4::int8, $5::bytea, $6::int8, $7::bytea,
            $8::int8, $9::bytea, $10::int8, $11::int8, $12::int8, $13::bytea, $14::bytea, $15::bytea, $16::bytea,
            $17::int8, $18::int8, $19::int8, \(witness(from: 20))) AS s
        \(confirmed(if: "s.outcome = 0"))
        """)
    fileprivate static let useFamily = SQLStatement(
        "use_family", isDurable: true,
        """
        SELECT outcome, owner, began_as, began_with, good_sealed, expires, owner_origin, owner_proof, owner_closed,
            spending, \(confirmed())
        FROM portcullis.use_family($1::bytea, $2::int8, $3::bytea, $4::int8, $5::bytea, $6::bytea, $7::bytea,
            $8::bytea, $9::bytea, $10::int8, $11::int8, $12::int8, $13::int8, \(witness(from: 14))) AS u
        \(confirmed(if: "u.outcome IN (0, 6)"))
        """)
    fileprivate static let markRepeatedLate = SQLStatement(
        "mark_repeated_late", isDurable: true,
        """
        SELECT m.is_marked, \(confirmed())
        FROM portcullis.mark_repeated_late($1::bytea, $2::bytea, \(witness(from: 3))) AS m (is_marked)
        \(confirmed(if: "m.is_marked"))
        """)
    /// The families end after the look at what the witness remembers. Otherwise the log might have overtaken that, and
    /// the witness would remember the new position.
    private static func ending(
        _ name: String, _ function: String, witnessFrom number: Int, if isWritten: String = "e.ended > 0"
    ) -> SQLStatement {
        SQLStatement(
            name, isDurable: true,
            """
            SELECT e.ended, \(confirmed())
            FROM portcullis.refresh_epoch(\(witness(from: number))) AS p (epoch)
            CROSS JOIN LATERAL (SELECT portcullis.\(function) AS ended WHERE p.epoch IS NOT NULL) AS e
            \(confirmed(if: isWritten))
            """)
    }
    fileprivate static let endFamily = ending(
        "end_family", "end_families(ARRAY[$1::bytea], $2::int8)", witnessFrom: 3)
    fileprivate static let endAccountFamilies = ending(
        "end_account_families", "end_account_families($1::bytea, $2::int8)", witnessFrom: 3)
    fileprivate static let endFamiliesOf = ending(
        "end_families_of", "end_families_of($1::int8, $2::bytea, $3::int8)", witnessFrom: 4)
    /// It begins a history, however many families there are.
    fileprivate static let endAllFamilies = ending(
        "end_all_families", "end_all_families($1::int8)", witnessFrom: 2, if: "e.ended >= 0")
    fileprivate static let expireFamilies = SQLStatement(
        "expire_families", "SELECT portcullis.expire_families($1::int8, $2::int8)")
    fileprivate static let families = SQLStatement(
        "families", maximumRows: RefreshLimits.maximumFamilies,
        """
        SELECT family_id, account_id, beginner_kind, beginner, key, hash, last_hash, sealed, repeated_late, began_at,
            used_at, expires_at, last_expires_at
        FROM portcullis.refresh_family
        WHERE account_id = $1::bytea AND epoch = (SELECT portcullis.refresh_epoch()) ORDER BY used_at, family_id
        """)
}
