import Testing

@testable import Settings

@Suite("STORE_URL")
struct StoreURLTests {
    private func url(_ text: String) throws -> StoreURL { try #require(try SettingGrammar.storeURL(text)) }

    @Test func `names user, hosts, database and parameters`() throws {
        let url = try url(
            "postgresql://gate%40way@a.example.org:5433,[2001:db8::1],192.0.2.7:1/port%20cullis?sslrootcert=/etc/ca.pem"
        )
        #expect(url.user == "gate@way" && url.database == "port cullis")
        #expect(url.hosts.map(\.text) == ["a.example.org", "2001:db8::1", "192.0.2.7"])
        #expect(url.hosts.map(\.port) == [5_433, 5_432, 1])
        let parameters = url.connectionParameters
        #expect(parameters["host"] == "a.example.org,2001:db8::1,192.0.2.7" && parameters["port"] == "5433,5432,1")
        #expect(parameters["sslmode"] == "verify-full" && parameters["sslrootcert"] == "/etc/ca.pem")
        #expect(parameters["dbname"] == "port cullis" && parameters["user"] == "gate@way")
    }

    @Test(arguments: [
        "postgresql://127.0.0.1/p", "postgres://u@[::1]:5433/p", "postgresql:///p?host=/run/postgresql",
        "postgresql://%2Frun%2Fpostgresql/p", "postgresql:///p?host=/run/postgresql&port=5433",
    ])
    func `doesn't need TLS on this machine`(text: String) throws {
        let url = try url(text)
        #expect(url.isLocal && url.isVerified)
        #expect(url.connectionParameters["sslmode"] == nil)
    }

    @Test(arguments: [
        "postgresql://db.example.org/p", "postgresql://localhost/p", "postgresql://127.0.0.1,192.0.2.7/p",
        "postgresql://db.example.org/p?sslmode=verify-full",
    ])
    func `verifies the server beyond this machine`(text: String) throws {
        let url = try url(text)
        #expect(!url.isLocal && url.isVerified)
        #expect(url.connectionParameters["sslmode"] == "verify-full")
        #expect(url.connectionParameters["sslrootcert"] == "/etc/ssl/certs/ca-certificates.crt")
    }

    @Test(arguments: ["disable", "allow", "prefer", "require", "verify-ca", "VERIFY-FULL"])
    func `is known to be unverified with a weaker mode`(mode: String) throws {
        #expect(try !url("postgresql://db.example.org/p?sslmode=\(mode)").isVerified)
        #expect(try url("postgresql://127.0.0.1/p?sslmode=\(mode)").isVerified)
    }

    @Test(arguments: [
        "postgresql://u:opensesame@db.example.org/p", "postgresql://db.example.org/p?password=opensesame",
        "postgresql://u:opensesame@/p?host=/run", "postgresql://u:opensesame/x@db/p",
    ])
    func `has no password, and no problem quotes one`(text: String) throws {
        let problem = #expect(throws: SettingProblem.self) { try SettingGrammar.storeURL(text) }
        #expect(!"\(problem as Any)".contains("sesame"))
    }

    @Test(arguments: [
        "", "postgresql:", "postgresql://db.example.org", "postgresql://db.example.org/", "mysql://db/p",
        "postgresql://db.example.org:0/p", "postgresql://db.example.org:65536/p", "postgresql://db.example.org:/p",
        "postgresql://[::1/p", "postgresql://[::1]x/p", "postgresql://a,,b/p", "postgresql:///p",
        "postgresql://db/p?options=-c", "postgresql://db/p?sslmode", "postgresql://db/p?sslmode=",
        "postgresql://db/p?sslmode=a&sslmode=b", "postgresql://db/p?host=/run", "postgresql://db/p%",
        "postgresql://db/p%0",
        "postgresql://db/p%00", "postgresql://db/%ff", "postgresql://d b/p", "postgresql://db/p?port=5432",
        "postgresql://db/p?target_session_attrs=any", "postgresql://@db/p", "postgresql://a,b,c,d,e,f,g,h,i/p",
    ])
    func `is refused in any other form`(text: String) throws {
        #expect(throws: SettingProblem.self) { try SettingGrammar.storeURL(text) }
    }

    @Test func `has a maximum length`() throws {
        let start = "postgresql://db/"
        let longest = start + String(repeating: "p", count: StoreURL.maximumBytes - start.utf8.count)
        #expect(try url(longest).database.count == StoreURL.maximumBytes - start.utf8.count)
        #expect(throws: SettingProblem.self) { try SettingGrammar.storeURL(longest + "p") }
        let hosts = (1...StoreURL.maximumHosts).map { "h\($0)" }.joined(separator: ",")
        #expect(try url("postgresql://\(hosts)/p").hosts.count == StoreURL.maximumHosts)
    }
}
