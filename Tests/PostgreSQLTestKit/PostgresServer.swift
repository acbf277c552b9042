import Foundation
import Glibc
package import PostgreSQL
import Synchronization

/// A private PostgreSQL server in a temporary directory, on a Unix socket and perhaps a loopback port. It ends with the
/// test process.
package final class PostgresServer: Sendable {
    package struct Options: Sendable {
        /// Without it a crash of the machine loses data; a crash of the server doesn't.
        package var synchronizes = false
        /// A loopback port that the kernel chooses, beside the socket.
        package var listens = false
        /// Lines of `postgresql.conf`.
        package var settings: [String] = []
        /// Lines that replace `pg_hba.conf`.
        package var access: [String]?
        /// The tables on a disk of their own of so many megabytes.
        package var diskMegabytes: Int?
        /// It follows this server until it is promoted.
        package var primary: PostgresServer?
        /// Its files are those of a base backup of this server, and it is started with them as they are.
        package var original: PostgresServer?
        /// TLS on the loopback port.
        package var certificates: PostgresCertificates?
        /// Its wall clock can be stepped (`scripts/clock.c`).
        package var hasOwnClock = false

        package init() {}
    }

    private struct State {
        var process: pid_t?
        var ended = DispatchSemaphore(value: 0)
        var databases = 0
    }

    package let directory: String
    package let port: Int
    private let options: Options
    private let state = Mutex(State())

    private var data: String { directory + "/data" }
    private var log: String { directory + "/log" }

    /// Initialises and starts a server.
    package static func launch(_ options: Options = Options()) async throws -> PostgresServer {
        try await offPool { try PostgresServer(options) }
    }

    private init(_ options: Options = Options()) throws {
        self.options = options
        directory = try Self.makeDirectory()
        port = options.listens ? try Self.freePort() : 5432
        if let primary = options.primary {
            try copy(primary, ["-R"])
        } else if let original = options.original {
            try copy(original)
        } else {
            try Self.pristine.get().withCopy(at: data)
        }
        try configure()
        if options.hasOwnClock { try makeClock() }
        try startNow()
    }

    deinit {
        signal(SIGKILL)
        awaitEnd()
        Leftovers.remove(directory: directory)
    }

    /// The server that tests share which don't disturb it.
    package static func shared() async throws -> PostgresServer { try await offPool { try only.get() } }

    private static let only = Result { try PostgresServer() }

    /// libpq's parameters.
    package func parameters(database: String = "postgres") -> [String: String] {
        [
            "host": directory, "port": String(port), "user": "portcullis", "dbname": database,
            "connect_timeout": Self.connectSeconds,
        ]
    }

    package func networkParameters(database: String = "postgres", port: Int? = nil) -> [String: String] {
        [
            "host": "127.0.0.1", "port": String(port ?? self.port), "user": "portcullis", "dbname": database,
            "sslmode": "disable", "connect_timeout": Self.connectSeconds,
        ]
    }

    /// The machine may be busy with all other tests. Tests of time limits set their own.
    private static let connectSeconds = "60"

    /// Also on a server that only reads.
    package func session(database: String = "postgres") throws -> PostgreSQLConnection {
        var parameters = parameters(database: database)
        parameters["target_session_attrs"] = "any"
        var options = DriverOptions(parameters: parameters)
        // A busy machine mustn't fail a test that isn't about waiting.
        options.lockMilliseconds = 120_000
        return try PostgreSQLConnection(options, within: 120_000)
    }

    /// An empty database.
    ///
    /// - Parameter template: a database of this server's that nobody is connected to.
    package func makeDatabase(template: String = "template0") async throws -> String {
        try await offPool { [self] in try makeDatabaseNow(template) }
    }

    private func makeDatabaseNow(_ template: String) throws -> String {
        let number = state.withLock { state in
            state.databases += 1
            return state.databases
        }
        let name = "test\(number)"
        try session().run("CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy")
        return name
    }

    // MARK: Its life

    package func start() async throws { try await offPool { [self] in try startNow() } }

    private func startNow() throws {
        let ended = DispatchSemaphore(value: 0)
        let process = try Program.start(try command(), output: log, ended: ended)
        Leftovers.add(process: process)
        state.withLock { state in
            state.process = process
            state.ended = ended
        }
        try awaitReadiness()
    }

    private func command() throws -> [String] {
        let server = PostgresPrograms.asUser(preload + [try PostgresPrograms.path("postgres"), "-D", data])
        guard let megabytes = options.diskMegabytes else { return server }
        let script = """
            mount -t tmpfs -o mode=700,size=\(megabytes)m tmpfs "$1" && cp -a "$1.kept/." "$1/" \
            && chown --reference="$1.kept" "$1" && shift && exec "$@"
            """
        try FileManager.default.moveItem(atPath: data + "/base", toPath: data + "/base.kept")
        try FileManager.default.createDirectory(atPath: data + "/base", withIntermediateDirectories: false)
        return ["/usr/bin/unshare", "--mount", "sh", "-c", script, "sh", data + "/base"] + server
    }

    /// Sends a signal to the server's main process, and `SIGSTOP` and `SIGCONT` to all of its processes.
    package func signal(_ number: Int32) {
        guard let process = state.withLock({ $0.process }) else { return }
        if number == SIGSTOP || number == SIGCONT { for child in children(of: process) { kill(child, number) } }
        kill(process, number)
    }

    /// Ends it at once as a crash of the machine does, except that what the kernel has is kept.
    package func crash() async throws { try await offPool { [self] in crashNow() } }

    private func crashNow() {
        guard let process = state.withLock({ $0.process }) else { return }
        // The children first could make the main process recover by itself.
        kill(process, SIGSTOP)
        let all = children(of: process)
        kill(process, SIGKILL)
        for child in all { kill(child, SIGKILL) }
        awaitEnd()
        while all.contains(where: { kill($0, 0) == 0 }) { usleep(1_000) }
    }

    /// Kills a process that serves a client. The server takes its memory for damaged, ends all others and recovers.
    package func killBackend() async throws {
        let session = try session()
        let backend = try session.run(
            """
            SELECT pid::int8 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
            ORDER BY random() LIMIT 1
            """, []
        ).only().integer(0)
        kill(pid_t(backend), SIGKILL)
        // Its own connection ends with the others.
        while (try? session.run("SELECT 1")) != nil { usleep(1_000) }
        try await offPool { [self] in try awaitReadiness() }
    }

    package func stop() async throws {
        signal(SIGINT)
        try await offPool { [self] in awaitEnd() }
    }

    private func awaitEnd() {
        let (process, ended) = state.withLock { state in
            defer { state.process = nil }
            return (state.process, state.ended)
        }
        guard let process else { return }
        ended.wait()
        Leftovers.ended(process: process)
    }

    private func children(of process: pid_t) -> [pid_t] {
        let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(process)/children", encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    private func awaitReadiness() throws {
        let end = Date(timeIntervalSinceNow: 60)
        while true {
            do {
                _ = try session().run("SELECT 1")
                return
            } catch {
                guard Date() < end else {
                    let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
                    throw PostgresTestError("the server isn't ready: \(error) \(text.suffix(2_000))")
                }
                usleep(20_000)
            }
        }
    }

    /// Fills the rest of the tables' disk.
    package func fillDisk() throws {
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw PostgresTestError("the disk can't be reached: \(errno)") }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 4_096)
        while write(descriptor, zeros, zeros.count) > 0 {}
    }

    package func emptyDisk() { unlink(filler) }

    private var filler: String {
        "/proc/\(state.withLock { $0.process } ?? 0)/root\(data)/base/filler"
    }
}

// MARK: Its clock

extension PostgresServer {
    private static let compiler = "/usr/bin/cc"

    /// Whether a server can have a clock of its own.
    package static var canHaveClock: Bool { FileManager.default.isExecutableFile(atPath: compiler) }

    private var offset: String { directory + "/clock" }
    private var library: String { directory + "/clock.so" }
    private var preload: [String] {
        options.hasOwnClock ? ["/usr/bin/env", "LD_PRELOAD=\(library)", "SOAK_CLOCK=\(offset)"] : []
    }

    private func makeClock() throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/clock.c").path
        try Program.run([Self.compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], output: log)
        guard FileManager.default.createFile(atPath: offset, contents: nil) else {
            throw PostgresTestError("\(offset) can't be made")
        }
        try stepClock(to: 0)
        PostgresPrograms.give(offset)
    }

    /// From now on its clock differs from the machine's by this many seconds.
    package func stepClock(to seconds: Int) throws {
        guard let file = FileHandle(forUpdatingAtPath: offset) else { throw PostgresTestError("it has no own clock") }
        let digits = String(seconds.magnitude)
        let text = (seconds < 0 ? "-" : "+") + String(repeating: "0", count: 10 - digits.count) + digits
        // In place: its processes have mapped the file.
        try file.write(contentsOf: Data(text.utf8))
        try file.close()
    }
}

// MARK: Its files

extension PostgresServer {
    /// Whether a server can have a disk of its own.
    package static var canMount: Bool { geteuid() == 0 }

    /// A fresh data directory, which is copied for each server.
    private struct Pristine {
        let path: String

        func withCopy(at path: String) throws {
            try Program.run(["/bin/cp", "-a", self.path, path], output: "/dev/null")
        }
    }

    private static let pristine = Result { () throws -> Pristine in
        let directory = try makeDirectory()
        let words = [
            try PostgresPrograms.path("initdb"), "-D", directory + "/data", "-U", "portcullis", "-A", "trust", "-E",
            "UTF8", "--locale=C", "--no-sync", "--no-instructions",
        ]
        try Program.run(PostgresPrograms.asUser(words), output: directory + "/log")
        return Pristine(path: directory + "/data")
    }

    private func copy(_ primary: PostgresServer, _ options: [String] = []) throws {
        let words = [
            try PostgresPrograms.path("pg_basebackup"), "-D", data, "-h", primary.directory, "-p", String(primary.port),
            "-U", "portcullis", "-X", "stream", "-c", "fast", "--no-sync",
        ]
        try Program.run(PostgresPrograms.asUser(words + options), output: log)
    }

    private var snapshot: String { directory + "/snapshot" }

    /// Keeps a copy of the files of a server that doesn't run.
    package func takeSnapshot() async throws {
        try await offPool { [self] in try Program.run(["/bin/cp", "-a", data, snapshot], output: log) }
    }

    /// Puts that copy in the place of its files.
    package func rollBack() throws {
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: snapshot, toPath: data)
    }

    private static func makeDirectory() throws -> String {
        let path = NSTemporaryDirectory() + "portcullis-pg-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        PostgresPrograms.give(path)
        Leftovers.add(directory: path)
        return path
    }

    private func configure() throws {
        var lines = [
            "listen_addresses = '\(options.listens ? "127.0.0.1" : "")'", "port = \(port)",
            "unix_socket_directories = '\(directory)'", "max_connections = 400", "shared_buffers = 32MB",
            "max_wal_size = 256MB", "min_wal_size = 32MB", "log_min_messages = warning",
        ]
        if !options.synchronizes { lines += ["fsync = off", "full_page_writes = off"] }
        if let certificates = options.certificates {
            try certificates.install(in: data)
            lines += ["ssl = on", "ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'"]
        }
        lines += options.settings
        try append(lines.joined(separator: "\n") + "\n", to: data + "/postgresql.conf")
        if let access = options.access {
            try Data((access.joined(separator: "\n") + "\n").utf8).write(
                to: URL(fileURLWithPath: data + "/pg_hba.conf"))
        }
    }

    private func append(_ text: String, to path: String) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        defer { try? file.close() }
        try file.seekToEnd()
        try file.write(contentsOf: Data(text.utf8))
    }

    private static func freePort() throws -> Int {
        let (descriptor, port) = try Loopback.listen()
        close(descriptor)
        return port
    }
}
