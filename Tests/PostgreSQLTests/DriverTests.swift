import PostgreSQL
import PostgreSQLTestKit
import Testing

@Suite("The driver")
struct DriverTests {
    private let server: PostgresServer
    private let driver: PostgreSQLDriver

    init() async throws {
        server = try await PostgresServer.shared()
        driver = PostgreSQLDriver(.patient(server.parameters()))
    }

    @Test func `sends and receives values of every type`() async throws {
        let statement = SQLStatement(
            "types",
            "SELECT $1::bytea, $2::text, $3::int8, $4::bool, $5::int8[] = ARRAY[1, NULL, -3]::int8[], $6::bytea[] = '{}', $7::text"
        )
        for integer in [0, 1, -1, .max, .min] as [Int64] {
            let bytes = (0...255).map { UInt8($0) }
            let row = try await driver.run(
                statement,
                [
                    .bytes(bytes), .text("žluť 🦊"), .integer(integer), .boolean(true),
                    .array(of: .integer, [.integer(1), .null, .integer(-3)]), .array(of: .bytes, []), .null,
                ]
            ).only()
            #expect(try row.bytes(0) == bytes && row.text(1) == "žluť 🦊" && row.integer(2) == integer)
            #expect(try row.boolean(3) && row.boolean(4) && row.boolean(5) && row.isNull(6))
            #expect(throws: DatabaseError.malformed) { try row.integer(1) }
            #expect(throws: DatabaseError.malformed) { try row.text(6) }
            #expect(throws: DatabaseError.malformed) { try row.text(7) }
        }
        let empty = try await driver.run(SQLStatement("empty", "SELECT $1::bytea, $2::text"), [.bytes([]), .text("")])
        #expect(try empty.only().bytes(0) == [] && empty.only().text(1) == "")
    }

    @Test func `reads no text above its limit`() async throws {
        let longest = SQLRow.maximumTextBytes
        let statement = SQLStatement("long", "SELECT repeat('x', $1::int8::int4), repeat('x', $1::int8::int4 + 1)")
        let row = try await driver.run(statement, [.integer(Int64(longest))]).only()
        #expect(try row.text(0).utf8.count == longest)
        #expect(throws: DatabaseError.malformed) { try row.text(1) }
        #expect(try row.bytes(1).count == longest + 1)
    }

    @Test func `answers each of many statements at once with its own answer`() async throws {
        let echo = SQLStatement("echo", "SELECT $1::int8")
        let sums = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in Int64(0)..<2_000 {
                group.addTask { [driver] in
                    try await driver.run(echo, [.integer(number)]).only().integer(0) == number
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(sums == 2_000)
        #expect(driver.figures.statements == 0 || driver.figures.connections == 4)
    }

    @Test func `leaves the statements beside a failing one alone`() async throws {
        let divide = SQLStatement("divide", "SELECT 1000 / $1::int8")
        let results = await withTaskGroup(of: Result<Int64, any Error>.self) { group in
            for number in Int64(0)..<500 {
                group.addTask { [driver] in
                    do {
                        let value = try await driver.run(divide, [.integer(number % 5)]).only().integer(0)
                        return .success(value)
                    } catch { return .failure(error) }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let failures = results.compactMap { if case .failure(let error) = $0 { error as? DatabaseError } else { nil } }
        #expect(failures.count == 100)
        #expect(failures.allSatisfy { $0 == .refused(SQLState("22012"), "") })
    }

    @Test func `reports a statement that can't be prepared, and continues`() async throws {
        let wrong = SQLStatement("wrong", "SELECT * FROM nowhere.nothing")
        for _ in 0..<3 {
            let error = await #expect(throws: DatabaseError.self) { try await driver.run(wrong) }
            guard case .refused(let state, let text) = error else { throw PostgresTestError("\(error as Any)") }
            #expect(state.kind == .schema && text.contains("nowhere"))
        }
        #expect(try await driver.run(.one).only().integer(0) == 1)
    }

    @Test func `says that a statement failed which failed in its commit`() async throws {
        let database = try await server.makeDatabase()
        try server.session(database: database).run(
            """
            CREATE TABLE public.parent (id int8 PRIMARY KEY);
            CREATE TABLE public.child (id int8 REFERENCES public.parent DEFERRABLE INITIALLY DEFERRED);
            """)
        let driver = PostgreSQLDriver(.patient(server.parameters(database: database)))
        let insert = SQLStatement("insert", "INSERT INTO public.child VALUES ($1::int8) RETURNING id")
        let error = await #expect(throws: DatabaseError.self) { try await driver.run(insert, [.integer(7)]) }
        guard case .refused(let state, let text) = error else { throw PostgresTestError("\(error as Any)") }
        #expect(state.code == "23503")
        // It might quote the key.
        #expect(text == "")
        #expect(try await driver.run(.one).only().integer(0) == 1)
    }

    @Test func `refuses an answer with more rows or bytes than allowed`() async throws {
        var options = DriverOptions.patient(server.parameters())
        options.maximumAnswerBytes = 1_000
        let driver = PostgreSQLDriver(options)
        let rows = SQLStatement("rows", maximumRows: 10, "SELECT g::int8 FROM generate_series(1, $1::int8) g")
        #expect(try await driver.run(rows, [.integer(10)]).count == 10)
        await #expect(throws: DatabaseError.tooLarge) { try await driver.run(rows, [.integer(11)]) }
        await #expect(throws: DatabaseError.tooLarge) { try await driver.run(rows, [.integer(100_000)]) }
        let bytes = SQLStatement("bytes", "SELECT repeat('x', $1::int4)::text")
        // A parameter of another type than the statement's cast is refused by the server.
        await #expect(throws: DatabaseError.self) { try await driver.run(bytes, [.integer(5)]) }
        let text = SQLStatement("text", "SELECT repeat('x', $1::int8::int4)::text")
        #expect(try await driver.run(text, [.integer(1_000)]).only().text(0).count == 1_000)
        await #expect(throws: DatabaseError.tooLarge) { try await driver.run(text, [.integer(1_001)]) }
        await #expect(throws: DatabaseError.tooLarge) {
            try await driver.run(SQLStatement("two", "SELECT 1::int8 FROM generate_series(1, 2)"))
        }
    }

    @Test func `runs durable statements on connections of their own`() async throws {
        // Without a connection of their own they take any other.
        let all = DriverOptions.patient(server.parameters()).connections
        _ = try await eventually { driver.figures.connections == all ? true : nil }
        let slow = SQLStatement("slow", isDurable: true, "SELECT pg_backend_pid()::int8 FROM pg_sleep(0.2)")
        async let slowly = withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<4 { group.addTask { [driver] in try await driver.run(slow).only().integer(0) } }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        var quick: Set<Int64> = []
        for _ in 0..<50 { quick.insert(try await driver.run(.process).only().integer(0)) }
        let slowOnes = try await slowly
        #expect(slowOnes.isDisjoint(with: quick))
        #expect(slowOnes.count <= 2 && quick.count <= 2)
    }

    @Test func `reports notifications`() async throws {
        let events = Events()
        var options = DriverOptions.patient(server.parameters())
        options.channel = "portcullis_test"
        let driver = PostgreSQLDriver(options) { events.take($0) }
        _ = try await eventually { events.all.contains(.notified) ? true : nil }
        let before = events.all.count
        _ = try await eventually {
            try server.session().run("NOTIFY portcullis_test")
            return events.all.count > before ? true : nil
        }
        #expect(events.all.filter { $0 == .reachable }.count == 1)
        withExtendedLifetime(driver) {}
    }

    @Test func `refuses statements above its maximum at once, and answers those before them when it ends`() async throws
    {
        var options = DriverOptions.patient(server.parameters())
        options.maximumStatements = 3
        let driver = PostgreSQLDriver(options)
        let answers = Answers()
        let sleeping = SQLStatement("sleeping", "SELECT 1::int8 FROM pg_sleep(100)")
        for _ in 0..<5 { driver.run(sleeping) { answers.take($0) } }
        #expect(answers.all.count { if case .failure(.queueFull) = $0 { true } else { false } } == 2)
        driver.close()
        #expect(try await answers.wait(5).count == 5)
        await #expect(throws: DatabaseError.self) { try await driver.run(.one) }
    }

    @Test func `blocks only threads that ask for it`() async throws {
        let value = try await withCheckedThrowingContinuation { continuation in
            onThread { [driver] in
                continuation.resume(with: Result { try driver.runBlocking(.one).only().integer(0) })
            }
        }
        #expect(value == 1)
    }

    @Test func `connects with a password that no error contains`() async throws {
        var options = PostgresServer.Options()
        options.access = ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"]
        options.listens = true
        let server = try await PostgresServer.launch(options)
        try server.session().run("CREATE ROLE gateway LOGIN PASSWORD 'opensesame'")
        var parameters = server.networkParameters()
        parameters["user"] = "gateway"
        parameters["password"] = "opensesame"
        let driver = PostgreSQLDriver(.patient(parameters))
        #expect(try await driver.run(.one).only().integer(0) == 1)
        parameters["password"] = "closesesame"
        let events = Events()
        let stranger = PostgreSQLDriver(.impatient(parameters)) { events.take($0) }
        let error = await #expect(throws: DatabaseError.self) { try await stranger.run(.one) }
        _ = try await eventually { events.all.isEmpty ? nil : true }
        #expect(!"\(error as Any) \(events.all)".contains("sesame"))
        #expect("\(events.all)".contains("password authentication failed"))
    }
}
