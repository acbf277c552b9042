import ArgumentParser
import AuditTrail
import GatewayServer
import Observability
import OperatorTools

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Say why a client was refused or admitted, check by check.",
        discussion: """
            The request id is in the answer that the client got (`requestId`), in the log and in the audit log. The audit log is that of \
            AUDIT_LOG_PATH with its rotated files (NAME.1, NAME.2.gz, NAME-20261122), or what --file names. If no line names the id, the \
            command says what that can mean, and ends with 1.
            """)

    @OptionGroup var settings: SettingsOptions
    @OptionGroup var log: AuditLogOptions

    @Argument(help: "The request id: 16 hexadecimal digits.")
    var requestID: String

    @Option(help: "When the client was refused, in UTC (2026-11-22T21:00Z): finds counts that may include it.")
    var at: String?

    @Flag(help: "One JSON object, for tools.")
    var json = false

    func run() throws {
        let time = try at.map { try AuditLogOptions.time($0, "--at") }
        var explanation = Explanation(of: requestID, at: time)
        let files = try log.files(settings)
        let reading = AuditLogOptions.read(files) { explanation.add($0) }
        explanation.malformed = reading.malformed
        if json { Console.say(explanation.json) }
        guard explanation.isFound else {
            if !json { for line in explanation.notFound { Console.complain(line) } }
            for path in files.paths { Console.complain("portcullis: searched \(path.shown)") }
            throw ExitCode.failure
        }
        if !json { for line in explanation.text { Console.say(line) } }
    }
}

/// Which audit log a command reads.
struct AuditLogOptions: ParsableArguments {
    @Option(
        name: .customLong("file"),
        help: "A file instead of AUDIT_LOG_PATH and its rotated files; can be repeated. `-` is standard input.")
    var paths: [String] = []

    func files(_ settings: SettingsOptions) throws -> AuditLogFiles {
        guard paths.isEmpty else { return AuditLogFiles(paths: paths) }
        let path = try currentPath(settings)
        let files = AuditLogFiles(of: path)
        guard !files.paths.isEmpty else {
            throw Console.failure("there is no audit log \(path.shown)", hint: Self.hint)
        }
        return files
    }

    /// The one file that the gateway appends to.
    func currentPath(_ settings: SettingsOptions) throws -> String {
        if let path = paths.last { return path }
        if let path = try Console.auditLogPath(settings) { return path }
        throw Console.failure(
            "AUDIT_LOG_PATH isn't set, so the audit log is the gateway's standard output", hint: Self.hint)
    }

    private static let hint = """
        Name a file with --file, or the settings of the gateway with --env-file. From systemd's journal: journalctl -o cat -u portcullis | \
        portcullis explain ID --file -
        """

    /// Reads all files; what couldn't be read is complained about.
    static func read(_ files: AuditLogFiles, _ body: (AuditRecord) -> Void) -> AuditReading {
        var reading = AuditReading()
        reading.read(files, body)
        report(reading)
        return reading
    }

    static func report(_ reading: AuditReading) {
        for problem in reading.problems { Console.complain("portcullis: warning: \(problem)") }
        if reading.malformed > 0 {
            Console.complain("portcullis: warning: \(reading.malformed) lines aren't lines of the audit log")
        }
    }

    static func time(_ text: String, _ option: String) throws -> Timestamp {
        guard let time = Timestamp(text) else {
            throw ValidationError("\(option) is a time in UTC, such as 2026-11-22 or 2026-11-22T21:00Z.")
        }
        return time
    }
}
