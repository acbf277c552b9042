package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry {
    package func keepWitness() async throws(KeyRegistryError) {
        let (history, beats) = try await answer(.beatWitness, witness.values) { rows throws(DatabaseError) in
            let row = try rows.only()
            let history = try row.bytes(0)
            guard history.count == RefreshWitness.nameBytes else { throw .malformed }
            return (history, try row.integer(1))
        }
        await witness.note(beats: beats, in: history)
    }
}

extension RefreshWitnessKeeper {
    /// The last parameters of the functions that use or begin a family, and all of `portcullis.beat_witness`.
    var values: [SQLValue] {
        let witness = present
        return [
            .bytes(witness.id), .integer(witness.beats), .array(of: .bytes, witness.histories.map { .bytes($0) }),
        ]
    }
}

extension SQLStatement {
    fileprivate static let beatWitness = SQLStatement(
        "beat_witness", isDurable: true,
        "SELECT present_history, present_beats FROM portcullis.beat_witness($1::bytea, $2::int8, $3::bytea[])")
}
