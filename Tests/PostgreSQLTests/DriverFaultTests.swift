import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Testing

@Suite("The driver, when the database fails,")
struct DriverFaultTests {
    private static let sleeping = SQLStatement("sleeping", "SELECT 1::int8 FROM pg_sleep(3600)")

    private func expectAnswer(_ driver: PostgreSQLDriver) async throws {
        #expect(try await eventually { try await driver.run(.one).only().integer(0) } == 1)
    }

    @Test func `says that the outcome is unknown when the server is killed, and recovers by itself`() async throws {
        let server = try await PostgresServer.launch()
        let events = Events()
        let driver = PostgreSQLDriver(.patient(server.parameters())) { events.take($0) }
        try await expectAnswer(driver)
        let answers = Answers()
        for _ in 0..<8 { driver.run(Self.sleeping) { answers.take($0) } }
        _ = try await eventually { driver.figures.statements == 8 ? true : nil }
        // They are on their way, since an answer has come after them.
        try await expectAnswer(PostgreSQLDriver(.patient(server.parameters())))
        try await server.crash()
        for answer in try await answers.wait(8) {
            guard case .failure(let error) = answer else { throw PostgresTestError("\(answer)") }
            switch error {
            case .unknown, .timedOut: break
            default: Issue.record("\(error)")
            }
        }
        let refused = try await eventually { () -> DatabaseError? in
            do {
                _ = try await driver.run(.one)
                return nil
            } catch let error as DatabaseError {
                if case .unreachable = error { return error }
                return nil
            }
        }
        guard case .unreachable(_, let seconds) = refused else { throw PostgresTestError("\(refused)") }
        #expect((1...4).contains(seconds))
        try await server.start()
        try await expectAnswer(driver)
        _ = try await eventually { events.all.last == .reachable ? true : nil }
        let kinds = events.all.map { if case .unreachable = $0 { "down" } else { "up" } }
        #expect(kinds == ["up", "down", "up"])
    }

    @Test func `answers in time while the server is frozen, and recovers when it thaws`() async throws {
        let server = try await PostgresServer.launch()
        let driver = PostgreSQLDriver(.impatient(server.parameters()))
        try await expectAnswer(driver)
        server.signal(SIGSTOP)
        let answers = Answers()
        for _ in 0..<50 { driver.run(.one) { answers.take($0) } }
        for answer in try await answers.wait(50) {
            guard case .failure(let error) = answer else { throw PostgresTestError("\(answer)") }
            #expect(error != .malformed && error != .tooLarge)
        }
        _ = try await eventually { driver.figures.isOpen ? true : nil }
        server.signal(SIGCONT)
        try await expectAnswer(driver)
        #expect(!driver.figures.isOpen)
    }

    @Test func `answers in time while the network is silent, and recovers when it speaks or is cut`() async throws {
        var options = PostgresServer.Options()
        options.listens = true
        let server = try await PostgresServer.launch(options)
        let relay = try TCPRelay(to: server.port)
        let driver = PostgreSQLDriver(.impatient(server.networkParameters(port: relay.port)))
        try await expectAnswer(driver)
        for _ in 0..<2 {
            relay.silence(true)
            let answers = Answers()
            for _ in 0..<20 { driver.run(.one) { answers.take($0) } }
            for answer in try await answers.wait(20) { #expect(throws: DatabaseError.self) { try answer.get() } }
            relay.silence(false)
            try await expectAnswer(driver)
            relay.cut()
            try await expectAnswer(driver)
        }
    }

    @Test func `tests its other connections at once when one is lost`() async throws {
        let server = try await PostgresServer.launch()
        var options = DriverOptions.patient(server.parameters())
        options.connections = 2
        options.heartbeatMilliseconds = 3_600_000
        let driver = PostgreSQLDriver(options)
        _ = try await eventually { driver.figures.connections == 2 ? true : nil }
        let durable = SQLStatement("process_of_durable", isDurable: true, "SELECT pg_backend_pid()::int8")
        let (kept, lost) = try await eventually { () -> (Int64, Int64)? in
            let both = try await (driver.run(durable).only().integer(0), driver.run(.process).only().integer(0))
            return both.0 == both.1 ? nil : both
        }
        let session = try server.session()
        try session.run("SELECT pg_terminate_backend(\(lost))")
        let last = SQLStatement("last", "SELECT query FROM pg_stat_activity WHERE pid = $1::int8")
        _ = try await eventually {
            try session.run(last, [.integer(kept)]).only().text(0) == "SELECT true" ? true : nil
        }
        withExtendedLifetime(driver) {}
    }

    @Test func `pipelines statements through a slow network`() async throws {
        var options = PostgresServer.Options()
        options.listens = true
        let server = try await PostgresServer.launch(options)
        let relay = try TCPRelay(to: server.port)
        let driver = PostgreSQLDriver(.patient(server.networkParameters(port: relay.port)))
        try await expectAnswer(driver)
        relay.delay(milliseconds: 100)
        let answers = Answers()
        for _ in 0..<500 { driver.run(.one) { answers.take($0) } }
        for answer in try await answers.wait(500) { _ = try answer.get() }
    }

    @Test func `moves to the server that can be written`() async throws {
        let (first, second) = (try await PostgresServer.launch(), try await PostgresServer.launch())
        var parameters = first.parameters()
        parameters["host"] = [first, second].map(\.directory).joined(separator: ",")
        parameters["port"] = "5432,5432"
        try second.session().run("CREATE DATABASE second")
        let driver = PostgreSQLDriver(.patient(parameters))
        let databases = SQLStatement("databases", "SELECT count(*) FROM pg_database WHERE datname = 'second'")
        func isSecond() async throws -> Bool { try await driver.run(databases).only().integer(0) == 1 }
        #expect(try await eventually { try await isSecond() } == false)
        // A failover to another address.
        try await first.crash()
        _ = try await eventually { try await isSecond() ? true : nil }
        // The old one returns as a server that only reads, and the new one becomes one: its connections are given up.
        try await first.start()
        let session = try second.session()
        try session.run("ALTER SYSTEM SET default_transaction_read_only = on")
        try session.run("SELECT pg_reload_conf()")
        let write = SQLStatement("write", "CREATE TABLE IF NOT EXISTS public.written (id int8)")
        _ = try await eventually { try await driver.run(write) }
        _ = try await eventually { try await isSecond() ? nil : true }
    }

    @Test(.enabled(if: PostgresServer.canMount))
    func `says that the disk is full, and goes on when there is room`() async throws {
        var options = PostgresServer.Options()
        options.diskMegabytes = 64
        let server = try await PostgresServer.launch(options)
        try server.session().run("CREATE TABLE public.filled (content text)")
        let driver = PostgreSQLDriver(.patient(server.parameters()))
        let fill = SQLStatement("fill", isDurable: true, "INSERT INTO public.filled VALUES (repeat($1::text, 4000))")
        _ = try await driver.run(fill, [.text("a")])
        try server.fillDisk()
        let full = try await eventually { () -> DatabaseError? in
            do {
                _ = try await driver.run(fill, [.text("secret")])
                return nil
            } catch let error as DatabaseError { return error }
        }
        guard case .refused(let state, let text) = full else { throw PostgresTestError("\(full)") }
        #expect(state.kind == .diskFull && !text.contains("secret"))
        // What needs no room is answered.
        #expect(try await driver.run(.one).only().integer(0) == 1)
        server.emptyDisk()
        _ = try await eventually { try await driver.run(fill, [.text("b")]) }
    }

    @Test func `replaces a connection that the operator ends`() async throws {
        let server = try await PostgresServer.launch()
        let driver = PostgreSQLDriver(.patient(server.parameters()))
        try await expectAnswer(driver)
        let answers = Answers()
        driver.run(Self.sleeping) { answers.take($0) }
        _ = try await eventually {
            try server.session().run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' \
                AND pid <> pg_backend_pid()
                """, [])
            return answers.all.isEmpty ? nil : true
        }
        guard case .failure(.unknown) = answers.all[0] else { throw PostgresTestError("\(answers.all)") }
        try await expectAnswer(driver)
    }
}
