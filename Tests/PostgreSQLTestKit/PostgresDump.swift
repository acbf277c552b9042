/// Dumps with PostgreSQL's own programs.
extension PostgresServer {
    /// Writes the schema `portcullis` as a script into `file` with `pg_dump`.
    package func dump(_ database: String, to file: String, _ options: [String] = []) async throws {
        try await run("pg_dump", ["--schema=portcullis", "--file=\(file)", "--dbname=\(database)"] + options)
    }

    /// Runs a script with `psql`; the first error ends it.
    package func runScript(_ file: String, in database: String, _ options: [String] = []) async throws {
        let words = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname=\(database)", "--file=\(file)"]
        try await run("psql", words + options)
    }

    private func run(_ program: String, _ words: [String]) async throws {
        let place = ["--host=\(directory)", "--port=\(port)", "--username=portcullis"]
        let command = PostgresPrograms.asUser([try PostgresPrograms.path(program)] + place + words)
        let output = "\(directory)/\(program).log"
        try await offPool { try Program.run(command, output: output) }
    }
}
