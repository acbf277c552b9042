import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// The database knows of a late repetition before it is marked, so a fault between the two uses nothing up.
@Suite("A late repetition of a use of a refresh token")
struct RefreshLateRepetitionTests {
    private let database: FleetDatabase
    private var store: PostgreSQLKeyRegistry { database.registry }
    private let late = RefreshUse.sample(0, to: 9, at: 20_000, repeating: 10_000)

    init() async throws {
        database = try await FleetDatabase()
        _ = try await database.registry.begin(.sample(1), maximum: 10)
        #expect(try await database.registry.begin(.sample()) == .begun)
        #expect(try await database.registry.use(.sample(0, to: 1)).isRotated)
    }

    /// What happens to the statement that marks it: its gateway can't know what became of the mark.
    private static let faults = [
        "PERFORM pg_terminate_backend(pg_backend_pid())", "RAISE EXCEPTION 'not now' USING ERRCODE = 'query_canceled'",
    ]
    /// It knows that there is no mark.
    private static let refusals = ["RAISE EXCEPTION 'no'", "RAISE EXCEPTION 'no' USING ERRCODE = 'lock_not_available'"]

    private func makeFault(_ fault: String) throws {
        try database.session().run(
            """
            CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                \(fault);
                RETURN NEW;
            END $$;
            CREATE TRIGGER fails BEFORE UPDATE ON portcullis.refresh_family
                FOR EACH ROW WHEN (NEW.repeated_late) EXECUTE FUNCTION public.fail()
            """)
    }

    private func isMarked() async throws -> Bool? {
        try await eventually { try await store.families(of: .sample(1)) }.first?.last?.wasRepeatedLate
    }

    @Test(arguments: faults)
    func `is answered and not used up if the mark may be lost`(fault: String) async throws {
        try makeFault(fault)
        for _ in 0..<2 {
            #expect(try await eventually { try await store.use(late) }.repeatedSealed == [1])
            #expect(try await isMarked() == false)
        }
        try await expectGood()
    }

    @Test(arguments: refusals)
    func `is neither answered nor used up if it isn't marked`(refusal: String) async throws {
        try makeFault(refusal)
        for _ in 0..<2 {
            await #expect(throws: KeyRegistryError.self) { try await store.use(late) }
            #expect(try await isMarked() == false)
        }
        try await expectGood()
    }

    private func expectGood() async throws {
        try database.session().run("DROP TRIGGER fails ON portcullis.refresh_family")
        #expect(try await eventually { try await store.use(late) }.repeatedSealed == [1])
        #expect(try await isMarked() == true)
        #expect(try await store.use(late) == .repeatedTooOften(.sample(1)))
        #expect(try await store.use(.sample(1, to: 2, at: 20_001)).isRotated)
    }

    @Test func `spends its proof once`() async throws {
        let home = try await store.incarnation()
        let proof = SingleUseMark.sample(1, .tokenProof, expires: .now + 60_000)
        #expect(try await store.use(late, spending: (proof, home)).repeatedSealed == [1])
        #expect(try await store.use(late, spending: (proof, home)) == .refused(.alreadySpent))
    }

    @Test func `counts once at two gateways`() async throws {
        let other = try database.anotherRegistry()
        async let one = store.use(late)
        async let two = other.use(late)
        let outcomes = try await [one, two]
        #expect(outcomes.compactMap(\.repeatedSealed) == [[1]])
        #expect(outcomes.contains(.repeatedTooOften(.sample(1))))
    }

    /// Its client has gone on.
    @Test func `isn't marked for a successor that is used meanwhile, and ends nothing`() async throws {
        let session = try database.session()
        let mark = "SELECT portcullis.mark_repeated_late($1::bytea, $2::bytea, NULL, NULL, NULL, NULL, NULL)"
        let values: [SQLValue] = [.bytes(late.family.bytes), .bytes(late.hash)]
        #expect(try await store.use(.sample(1, to: 2)).isRotated)
        #expect(try session.run(mark, values).only().boolean(0) == false)
        #expect(try await isMarked() == false)
        #expect(try await store.use(.sample(2, to: 3)).isRotated)
    }
}
