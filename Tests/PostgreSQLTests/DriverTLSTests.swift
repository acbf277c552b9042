import PostgreSQL
import PostgreSQLTestKit
import Testing

@Suite("The driver's TLS")
struct DriverTLSTests {
    private let certificates: PostgresCertificates
    private let server: PostgresServer

    init() async throws {
        certificates = try PostgresCertificates(name: "db.example.org")
        var options = PostgresServer.Options()
        options.listens = true
        options.certificates = certificates
        options.access = ["local all all trust", "hostssl all all 127.0.0.1/32 trust"]
        server = try await PostgresServer.launch(options)
    }

    private func parameters(host: String = "db.example.org", authority: String? = nil) -> [String: String] {
        var parameters = server.networkParameters()
        parameters["host"] = host
        parameters["hostaddr"] = "127.0.0.1"
        parameters["sslmode"] = "verify-full"
        parameters["sslrootcert"] = authority ?? certificates.authority
        return parameters
    }

    @Test func `encrypts, and verifies the server`() async throws {
        let driver = PostgreSQLDriver(.patient(parameters()))
        let encrypted = SQLStatement("encrypted", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        #expect(try await driver.run(encrypted).only().boolean(0))
        // Enough for several records.
        let large = SQLStatement("large", "SELECT repeat($1::text, 100000)")
        let answers = Answers()
        for _ in 0..<20 { driver.run(large, [.text("x")]) { answers.take($0) } }
        for answer in try await answers.wait(20) { #expect(try answer.get().only().bytes(0).count == 100_000) }
    }

    @Test func `refuses a server of another name, or by another authority`() async throws {
        let stranger = try PostgresCertificates(name: "db.example.org")
        for parameters in [parameters(host: "db2.example.org"), parameters(authority: stranger.authority)] {
            let events = Events()
            let driver = PostgreSQLDriver(.impatient(parameters)) { events.take($0) }
            await #expect(throws: DatabaseError.self) { try await driver.run(.one) }
            _ = try await eventually { events.all.isEmpty ? nil : true }
            guard case .unreachable(let reason) = events.all[0] else { throw PostgresTestError("\(events.all)") }
            #expect(reason.contains("db2.example.org") || reason.contains("certificate verify failed"))
        }
    }
}
