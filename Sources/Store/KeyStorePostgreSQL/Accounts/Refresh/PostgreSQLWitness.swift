package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry {
    package func keepWitness() async throws(KeyRegistryError) {
        try await witnessed(.beatWitness, []) { _ in }
        await witness.keep()
    }

    /// A statement that the witness takes part in: the last parameters are what it remembers, and the last columns what
    /// it may remember next.
    func witnessed<Value: Sendable>(
        _ statement: SQLStatement, _ values: [SQLValue], within milliseconds: Int? = patience,
        _ read: @escaping @Sendable (SQLRow) throws(DatabaseError) -> Value
    ) async throws(KeyRegistryError) -> Value {
        let known = witness.present
        let (value, confirmed) = try await answer(statement, values + known.values, within: milliseconds) {
            rows throws(DatabaseError) -> (Value, RefreshConfirmation?) in
            let row = try rows.only()
            return (try read(row), try row.confirmation(from: rows.columns - SQLStatement.confirmedColumns))
        }
        if let confirmed {
            witness.note(confirmed, after: known.histories.first) { [weak self] in try? await self?.keepWitness() }
        }
        return value
    }
}

extension RefreshWitness {
    fileprivate var values: [SQLValue] {
        [
            .bytes(id), .integer(beats), .integer(reached), .integer(run),
            .array(of: .bytes, histories.map { .bytes($0) }),
        ]
    }
}

extension SQLRow {
    /// - Returns: nil where nothing was written.
    fileprivate func confirmation(from column: Int) throws(DatabaseError) -> RefreshConfirmation? {
        guard try !isNull(column) else { return nil }
        let (history, place) = (try bytes(column), try bytes(column + 1))
        guard history.count == RefreshWitness.nameBytes, place.count == RefreshWitness.placeBytes else {
            throw .malformed
        }
        return RefreshConfirmation(
            history: history, place: place, reached: try integer(column + 2), run: try integer(column + 3),
            beats: try integer(column + 4))
    }
}

extension SQLStatement {
    fileprivate static let confirmedColumns = 5

    static func confirmed(beats: String = "0::int8") -> String { "c.history, c.place, c.reached, c.run, \(beats)" }

    /// Runs after what it is joined to, since it depends on that.
    static func confirmed(if isWritten: String) -> String {
        "CROSS JOIN LATERAL portcullis.confirmed(\(isWritten)) AS c"
    }

    /// The parameters of a witness.
    ///
    /// - Parameter number: of the first one.
    static func witness(from number: Int) -> String {
        "$\(number)::bytea, $\(number + 1)::int8, $\(number + 2)::int8, $\(number + 3)::int8, $\(number + 4)::bytea[]"
    }

    fileprivate static let beatWitness = SQLStatement(
        "beat_witness", isDurable: true,
        """
        SELECT \(confirmed(beats: "b.beats")) FROM portcullis.beat_witness(\(witness(from: 1))) AS b (beats)
        \(confirmed(if: "b.beats > 0"))
        """)
}
