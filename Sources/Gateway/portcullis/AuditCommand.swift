import ArgumentParser
import AuditTrail
import FoundationEssentials
import GatewayServer
import Glibc
import Observability
import OperatorTools
import WireText

struct AuditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Filter, count and follow the audit log.",
        discussion: """
            Options of one kind add up: `--reason unknown_key --reason invalid_nonce` shows both. Lines that count refusals (event `refusals`) \
            count as many. Without --follow it reads AUDIT_LOG_PATH with its rotated files, or what --file names.
            """)

    @OptionGroup var settings: SettingsOptions
    @OptionGroup var log: AuditLogOptions

    @Option(help: "upgrade, registration, ticket, token, authorization, session, refusals or gap; can be repeated.")
    var event: [String] = []

    @Option(help: "admitted, reported, refused, failed or ended; can be repeated.")
    var outcome: [String] = []

    @Option(help: "The admission method (`way`), such as app_attest; can be repeated.")
    var method: [String] = []

    @Option(help: "A refusal's code or the reason of a session's end; can be repeated.")
    var reason: [String] = []

    @Option(help: "The client's identity, such as a key's identifier; can be repeated.")
    var who: [String] = []

    @Option(help: "An address or a range, such as 203.0.113.0/24; can be repeated.")
    var address: [String] = []

    @Option(help: "From this time on, in UTC (2026-11-22, 2026-11-22T21:00Z), or so long ago (90m, 12h, 7d).")
    var since: String?

    @Option(help: "Before this time.")
    var until: String?

    @Option(
        name: .customLong("count-by"),
        help:
            "Count instead of showing lines, by one or several of: \(AuditTally.Key.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var countBy: String?

    @Flag(help: "Go on with what is appended, through rotations; without --since only that is shown.")
    var follow = false

    @Flag(help: "The lines as they are, with escapes for what is invisible, or counts as JSON.")
    var json = false

    func validate() throws {
        guard !follow || countBy == nil else { throw ValidationError("--follow can't be used with --count-by.") }
        guard !follow || !log.paths.contains("-") else { throw ValidationError("Standard input can't be followed.") }
    }

    func run() throws {
        let filter = try makeFilter()
        if let countBy { return try count(by: Self.keys(countBy), filter) }
        guard follow else {
            _ = AuditLogOptions.read(try log.files(settings)) { if filter.matches($0) { show($0) } }
            return
        }
        try follow(filter)
    }

    private func show(_ record: AuditRecord) {
        Console.say(json ? record.json : record.readable)
    }

    private func count(by keys: [AuditTally.Key], _ filter: AuditFilter) throws {
        var tally = AuditTally(by: keys)
        _ = AuditLogOptions.read(try log.files(settings)) { if filter.matches($0) { tally.add($0) } }
        for line in json ? tally.jsonLines : tally.text { Console.say(line) }
    }

    /// Until it is interrupted.
    private func follow(_ filter: AuditFilter) throws {
        let path = try log.currentPath(settings)
        var malformed = 0
        // Opened before older lines are read, so that none between is missed; it begins at the file's start then.
        let follower = AuditFollower(path: path, fromStart: since != nil)
        if since != nil {
            let older = AuditLogFiles(paths: AuditLogFiles(of: path).paths.filter { $0 != path })
            _ = AuditLogOptions.read(older) { if filter.matches($0) { show($0) } }
        }
        while true {
            follower.poll { line in
                guard let record = AuditRecord(line) else {
                    malformed += 1
                    return Console.complain("portcullis: warning: not a line of the audit log (\(malformed) so far)")
                }
                if filter.matches(record) { show(record) }
            }
            usleep(Self.followInterval)
        }
    }

    /// Microseconds.
    private static let followInterval: UInt32 = 200_000
}

extension AuditCommand {
    private func makeFilter() throws -> AuditFilter {
        var filter = AuditFilter()
        func set(_ values: [String]) -> Set<ByteText> { Set(values.map { ByteText($0) }) }
        (filter.events, filter.outcomes, filter.methods) = (set(event), set(outcome), set(method))
        (filter.reasons, filter.who) = (set(reason), set(who))
        filter.addresses = try address.map { text in
            guard let range = AddressRange(text) else {
                throw ValidationError(
                    "--address is an address or a range whose other bits are 0, such as 203.0.113.0/24.")
            }
            return range
        }
        filter.since = try since.map { try Self.time($0, "--since") }
        filter.until = try until.map { try Self.time($0, "--until") }
        return filter
    }

    /// A time, or a duration before now.
    private static func time(_ text: String, _ option: String) throws -> Timestamp {
        let units: [Character: Int64] = ["s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (0...36_500).contains(count)
        else { return try AuditLogOptions.time(text, option) }
        return Timestamp(unixMilliseconds: Timestamp.now().unixMilliseconds - count * unit)
    }

    private static func keys(_ text: String) throws -> [AuditTally.Key] {
        let names = text.split(separator: ",").map { String($0.filter { $0 != " " }) }
        let keys = names.compactMap(AuditTally.Key.init)
        guard !keys.isEmpty, keys.count == names.count, Set(keys).count == keys.count else {
            let known = AuditTally.Key.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--count-by is one or several of \(known), with commas between.")
        }
        return keys
    }
}
