import ArgumentParser
import FoundationEssentials
import GatewayServer
import OperatorTools

/// `90d`.
struct IdleTime: ExpressibleByArgument {
    let days: Int

    init?(argument: String) {
        guard argument.hasSuffix("d"), argument.utf8.count <= 6, let days = Int(argument.dropLast()), days > 0 else {
            return nil
        }
        self.days = days
    }
}

extension KeysCommand {
    struct Prune: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget the keys that nobody has used for a time. Their devices must register again.",
            discussion: """
                Revoked keys stay, so that they stay refused. No session is closed. Prints a line for each forgotten key.
                """)

        @OptionGroup var options: Options

        @Option(help: "How long a key has not been used, in days: 90d.")
        var idle: IdleTime

        @Flag(help: "Only show what would be forgotten.")
        var dryRun = false

        @Flag(help: "One JSON object a line.")
        var json = false

        func run() async throws {
            try await options.administer { (keys) async throws(OperatorError) in
                let report = try await keys.prune(
                    idleDays: idle.days, at: .now, dryRun: dryRun, json: json, Console.say)
                Console.complain(
                    "portcullis: \(report.forgotten) keys \(dryRun ? "would be forgotten" : "forgotten"), \(report.kept)"
                        + " kept, of which \(report.revoked) are revoked")
            }
        }
    }

    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print all that is kept about a device, as JSON.",
            discussion: """
                The key store's data, and the lines of the audit log (AUDIT_LOG_PATH and its rotated files) that name the key. KEY may also be the thumbprint of a \
                device's key that used development tokens.
                """)

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        @Option(
            help: ArgumentHelp(
                "Another file to search, plain or packed with gzip. May be repeated.",
                valueName: "file"))
        var auditFile: [String] = []

        func run() async throws {
            let current = try Console.auditLogPath(options.settings)
            let files = auditFile + (current.map { AuditLogFiles(of: $0).paths } ?? [])
            try await options.administer { (keys) async throws(OperatorError) in
                let found = try await keys.export(key.keyID, at: .now, auditFiles: files, Console.show)
                if !found { Console.complain("portcullis: nothing is kept about \(key.keyID)") }
                if files.isEmpty { Console.complain("portcullis: no audit log was searched: see --audit-file") }
            }
        }
    }

    struct Erase: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove all that the store has about a device, and close the sessions of its key.",
            discussion: """
                Sessions of a development token go on until they are closed. A revoked key stays refused: of it, the identifier and the time of the revocation stay. Lines of the audit log and backups aren't \
                changed. KEY may also be the thumbprint of a device's key that used development tokens.
                """)

        @OptionGroup var options: Options
        @OptionGroup var key: KeyArgument

        @Flag(help: "Needed: an erasure can't be undone.")
        var yes = false

        func validate() throws {
            guard yes else { throw ValidationError("An erasure can't be undone: repeat the command with --yes.") }
        }

        func run() async throws {
            let gateway = try Console.runningGateway(options.settings, besides: options.store)
            try await options.administer { (keys) async throws(OperatorError) in
                let erasure = try await keys.erase(key.keyID, at: .now) {
                    let hasNoticed = gateway?.awaitNotice(ofRevoking: key.keyID) ?? true
                    try? await Task.sleep(for: KeyAdministration.notice)
                    return hasNoticed
                }
                for line in erasure.lines { Console.say(line) }
            }
            Console.complain(
                "portcullis: lines of the audit log that name the key stay until rotation removes them, and backups keep it."
            )
        }
    }
}
