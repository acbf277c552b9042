import Admission
import FoundationEssentials
import Observability
import RelayCore

/// Shared secrets, the block list, and the check that the gate can admit clients.
extension ConfigurationLoader {
    /// Bytes; room for ``SharedSecrets/maximumCount`` with a comment each.
    private static let maximumSecretsBytes = 65_536
    /// Bytes; room for ``BlockList/maximumCount`` of the longest entries.
    private static let maximumBlockListBytes = 16_777_216

    /// The mode without its file would refuse every client; the file without its mode would have no effect.
    mutating func sharedSecrets() -> SharedSecrets? {
        let gate = read(\.gate)
        let (mode, path) = (gate.authMode, gate.sharedSecretsPath)
        let settings = settings.gate
        switch (mode, path) {
        case (.sharedSecret, nil):
            refuse(
                settings.sharedSecretsPath, "isn't set, and AUTH_MODE is shared-secret",
                "Name the file with the secrets' hashes; docs/CONFIGURATION.md says how to make one.",
                involving: [settings.authMode, settings.sharedSecretsPath])
        case (.none, .some):
            refuse(
                settings.sharedSecretsPath, "is set while AUTH_MODE is none",
                "Set AUTH_MODE=shared-secret, or remove it.",
                involving: [settings.authMode, settings.sharedSecretsPath])
        default: break
        }
        guard mode == .sharedSecret, let path else { return nil }
        if NamedFile.isReadableByEverybody(path) {
            warn(
                settings.sharedSecretsPath, "all users of this machine can read the secrets' hashes: chmod o= it.")
        }
        return list(settings.sharedSecretsPath, path, maximumBytes: Self.maximumSecretsBytes) {
            (text: String) throws(OperatorListError) in try SharedSecrets(text)
        }
    }

    mutating func blockList() -> BlockList {
        guard let path = read(settings.gate.blockListPath) else { return BlockList() }
        let list = list(settings.gate.blockListPath, path, maximumBytes: Self.maximumBlockListBytes) {
            (text: String) throws(OperatorListError) in
            try BlockList(text, kinds: [ConfiguredMethod].all.blockListKinds)
        }
        return list ?? BlockList()
    }

    /// The content of a file; nil after an error, which names the line.
    private mutating func list<List>(
        _ setting: LiveSetting<String?>, _ path: String, maximumBytes: Int,
        _ parse: (String) throws(OperatorListError) -> List
    ) -> List? {
        guard let text = text(of: setting, path, maximumBytes: maximumBytes) else { return nil }
        do throws(OperatorListError) {
            return try parse(text)
        } catch {
            let place = error.line.map { "whose line \($0)" } ?? "that"
            fail(setting, "names a file \(place) \(error.problem)", error.remedy)
            return nil
        }
    }

    /// A gate that admits no client is a mistake; one that admits every client is worth a warning.
    mutating func checkMethods(_ methods: Set<String>, isOpen: Bool, needsSecret: Bool) {
        guard !isOpen else {
            let who = needsSecret ? "any client with a shared secret" : "any client that can reach the port"
            warn(settings.gate.appAuth, "is false: \(who) is connected to the target.")
            return
        }
        guard methods.isEmpty else { return }
        let alone = needsSecret ? " Where a shared secret is enough, set it to false." : ""
        refuse(
            settings.gate.appAuth, "is \(read(settings.gate.appAuth).rawValue), but no admission method is configured",
            "Set APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or MTLS_CLIENT_CA_PATH, or CONTROL_SOCKET_PATH for tickets."
                + alone, involving: settingsOfMethods)
    }

    /// Days that `REQUIRE_APP_AUTH=report` may last.
    static let longestReportDays = 90

    /// The mode ends by itself: without a date, or with one that is over or far away, it would be forgotten.
    mutating func checkReport() {
        let (gate, values) = (settings.gate, read(\.gate))
        let both: [any AnySetting] = [gate.appAuth, gate.reportUntil]
        guard values.appAuth == .report else {
            if values.reportUntil != nil { warn(gate.reportUntil, "has no effect: REQUIRE_APP_AUTH isn't report.") }
            return
        }
        guard let end = values.reportUntil else {
            return refuse(
                gate.reportUntil, "isn't set, and REQUIRE_APP_AUTH is report",
                "Write the date from which app authentication is required, like 2026-12-24.", involving: both)
        }
        let left = end.unixMilliseconds - Int64(now.timeIntervalSince1970 * 1_000)
        guard left > 0 else {
            // No error: a restart after the date must not keep the gateway down.
            return warn(
                gate.reportUntil, "is in the past: REQUIRE_APP_AUTH=report has ended and means true. Set it to true.")
        }
        guard left <= Int64(Self.longestReportDays) * 86_400_000 else {
            return refuse(
                gate.reportUntil, "is more than \(Self.longestReportDays) days ahead", "Write an earlier date.",
                involving: both)
        }
        warn(
            gate.appAuth,
            "is report: until \(end) clients without valid app authentication are admitted as anonymous, and only recorded."
        )
    }

    /// Warns about a route that admits no client, since such a route looks as if it worked.
    mutating func checkRoutes(_ routes: [Route], _ methods: Set<String>) {
        guard !settingsOfMethods.contains(where: hasFailed) else { return }
        for route in routes {
            guard let admitted = route.options.admit?.methods, admitted.isDisjoint(with: methods) else { continue }
            let names = admitted.sorted().joined(separator: "+")
            warn(
                settings.target.routes,
                "no client can use the route \(route.name): its admission methods (\(names)) aren't configured."
            )
        }
    }

    private var settingsOfMethods: [any AnySetting] {
        [
            settings.attestation.teamID, settings.attestation.bundleIDs, settings.attestation.appIDs,
            settings.clientAuthorities.authorityPath, settings.tickets.controlSocketPath,
            settings.gate.appAuth,
        ]
    }
}
