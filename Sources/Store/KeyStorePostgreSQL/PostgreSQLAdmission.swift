package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: SharedKeyRegistry {
    /// Marks that one statement deletes, and statements of one call.
    private static let (forgottenMarks, forgettingRounds) = (5_000, 200)

    package func standing(
        of id: KeyID, then: @escaping @Sendable (Result<KeyStanding?, KeyRegistryError>) -> Void
    ) {
        answer(
            .standing, [.bytes(id.bytes)],
            { rows throws(DatabaseError) in try rows.first.map { row throws(DatabaseError) in try KeyStanding(id, row) }
            },
            then: then)
    }

    package func admit(
        _ use: AssertionUse, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<AssertionSpending, KeyRegistryError>) -> Void
    ) {
        let values =
            use.mark.values(in: incarnation) + use.use.values(of: use.key, at: use.time)
        answer(
            .admit, values,
            { rows throws(DatabaseError) in
                let row = try rows.only()
                let spending = try MarkSpending(row, 0)
                guard spending == .spent else { return .refused(spending) }
                let advance = try CounterAdvance(row, outcome: 1, stored: 2)
                return advance == .advanced ? .admitted : .notAdvanced(advance)
            }, then: then)
    }

    package func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        answer(
            .spend, mark.values(in: incarnation),
            { rows throws(DatabaseError) in try MarkSpending(try rows.only(), 0) }, then: then)
    }

    package func keep(
        _ ticket: SealedTicket, uses: Int, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        answer(
            .keepTicket, ticket.values(in: incarnation) + [.integer(Int64(uses))],
            { rows throws(DatabaseError) in try MarkSpending(try rows.only(), 0) }, then: then)
    }

    package func keep(
        _ ticket: KeptTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let values: [SQLValue] = [
            .bytes(incarnation.bytes), .bytes(ticket.hash), .bytes(ticket.content), .integer(ticket.expires),
            .bytes(ticket.session.bytes), .bytes(ticket.holder.bytes),
        ]
        answer(
            .keepNextTicket, values, { rows throws(DatabaseError) in try MarkSpending(try rows.only(), 0) }, then: then)
    }

    package func shortenTickets(
        ofSession session: SessionMark, to time: Int64,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        answer(.shortenTickets, [.bytes(session.bytes), .integer(time)], { _ in }, then: then)
    }

    package func giveBack(
        _ ticket: SealedTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        answer(
            .giveBackTicket, ticket.values(in: incarnation),
            { rows throws(DatabaseError) in try MarkSpending(try rows.only(), 0) }, then: then)
    }

    package func takeTicket(
        hash: [UInt8], at time: Int64, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<TakenTicket?, KeyRegistryError>) -> Void
    ) {
        answer(
            .takeTicket, [.bytes(incarnation.bytes), .bytes(hash)],
            { rows throws(DatabaseError) in
                let row = try rows.only()
                guard try !row.isNull(0) else { return nil }
                let ticket = SealedTicket(hash: hash, sealed: try row.bytes(0), expires: try row.integer(1))
                guard let ticket else { throw .malformed }
                return ticket.expires > time ? TakenTicket(ticket, remaining: Int(clamping: try row.integer(2))) : nil
            }, then: then)
    }

    package func discardTicket(hash: [UInt8], then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void) {
        answer(.discardTicket, [.bytes(hash)], { _ in }, then: then)
    }

    package func forgetMarks(expiredAt time: Int64, maximum: Int) async throws(KeyRegistryError) {
        let values: [SQLValue] = [.integer(time), .integer(Int64(maximum)), .integer(Int64(Self.forgottenMarks))]
        for _ in 0..<Self.forgettingRounds {
            let gone = try await answer(.forgetMarks, values) { rows throws(DatabaseError) in
                try rows.only().integer(0)
            }
            if gone < Self.forgottenMarks { return }
        }
    }
}

extension SingleUseMark {
    func values(in incarnation: StoreIncarnation) -> [SQLValue] {
        [.bytes(incarnation.bytes), .integer(kind.rawValue), .bytes(bytes), .integer(expires)]
    }
}

extension SealedTicket {
    fileprivate func values(in incarnation: StoreIncarnation) -> [SQLValue] {
        [.bytes(incarnation.bytes), .bytes(hash), .bytes(sealed), .integer(expires)]
    }
}

extension MarkSpending {
    init(_ row: SQLRow, _ column: Int) throws(DatabaseError) {
        switch try row.integer(column) {
        case 0: self = .spent
        case 1: self = .alreadySpent
        case 2: self = .foreign
        case 3: self = .expired
        case 4: self = .full
        default: throw .malformed
        }
    }
}

extension SQLRow {
    func incarnation(_ column: Int) throws(DatabaseError) -> StoreIncarnation {
        guard let incarnation = StoreIncarnation(bytes: try bytes(column)) else { throw .malformed }
        return incarnation
    }
}

extension SQLStatement {
    fileprivate static let admit = SQLStatement(
        "admit",
        """
        SELECT spending, outcome, stored
        FROM portcullis.admit(
            $1::bytea, $2::int8, $3::bytea, $4::int8, $5::bytea, $6::int8, $7::int8, $8::int8, $9::int8, $10::int8)
        """)
    fileprivate static let spend = SQLStatement(
        "spend", "SELECT portcullis.spend($1::bytea, $2::int8, $3::bytea, $4::int8)")
    fileprivate static let keepTicket = SQLStatement(
        "keep_ticket", "SELECT portcullis.keep_ticket($1::bytea, $2::bytea, $3::bytea, $4::int8, $5::int8)")
    fileprivate static let keepNextTicket = SQLStatement(
        "keep_next_ticket",
        """
        SELECT portcullis.keep_next_ticket($1::bytea, $2::bytea, $3::bytea, $4::int8, $5::bytea, $6::bytea)
        """)
    fileprivate static let shortenTickets = SQLStatement(
        "shorten_tickets", "SELECT true FROM portcullis.shorten_tickets($1::bytea, $2::int8)")
    fileprivate static let giveBackTicket = SQLStatement(
        "give_back_ticket", "SELECT portcullis.return_ticket($1::bytea, $2::bytea, $3::bytea, $4::int8)")
    fileprivate static let takeTicket = SQLStatement(
        "take_ticket", "SELECT sealed, expires, remaining FROM portcullis.use_ticket($1::bytea, $2::bytea)")
    fileprivate static let discardTicket = SQLStatement(
        "discard_ticket", "DELETE FROM portcullis.ticket WHERE hash = $1::bytea")
    fileprivate static let forgetMarks = SQLStatement(
        "forget_marks", isDurable: true, "SELECT portcullis.forget_marks($1::int8, $2::int8, $3::int8)")
}
