/// What is different since the settings were read last, in the table's order: a line each, without secrets and without what stands in files.
package struct ReloadDifference: Sendable, Equatable {
    package struct Line: Sendable, Equatable, Codable, CustomStringConvertible {
        package let setting: String
        /// `10 -> 20`, or that its file holds something else.
        package let change: String

        package var description: String { "\(setting): \(change)" }
    }

    /// In effect from now on.
    package private(set) var applied: [Line] = []
    /// Not in effect before a restart. They are named at each reload until then.
    package private(set) var needingRestart: [Line] = []

    /// - Parameters:
    ///   - isAppAttestFixed: App Attest can't be turned on or off in a gateway that runs.
    ///   - isClientTLSFixed: the same for TLS toward clients, and what stands on it.
    init(
        from old: SettingsInEffect, to new: SettingsInEffect, isAppAttestFixed: Bool = false,
        isClientTLSFixed: Bool = false
    ) {
        for (row, value) in new.values {
            guard let before = old[row.name], before != value else { continue }
            let line = Line(setting: row.name, change: Self.change(row, before, value))
            let isFixed =
                SettingTable.fixedWhileRunning.contains(row.name) || (isAppAttestFixed && row.group == .appAttest)
                || (isClientTLSFixed && (row.group == .tls || row.group == .clientCertificates))
            if isFixed { needingRestart.append(line) } else { applied.append(line) }
        }
    }

    private static func change(
        _ row: SettingRow, _ old: SettingsInEffect.Value, _ new: SettingsInEffect.Value
    ) -> String {
        if row.isSecret { return "changed" }
        guard old.text != new.text else { return "the file has changed" }
        return "\(shown(old.text)) -> \(shown(new.text))"
    }

    private static func shown(_ text: String) -> String { text.isEmpty ? "(none)" : text }
}

extension SettingTable {
    /// Settings that a running gateway keeps from its start: what it listens on and writes to, how many threads it has, and the sizes of what was
    /// made once.
    static let fixedWhileRunning: Set<String> = [
        bindHost.row.name, port.row.name, inboundTLSMode.row.name, reactorThreads.row.name, keysPath.row.name,
        storeBusy.row.name, controlSocketPath.row.name, publicOrigin.row.name,
        maximumLimiterEntries.row.name, challengeLifetime.row.name,
        maximumSpentChallenges.row.name,
        ticketLifetime.row.name, maximumTickets.row.name,
        logLevel.row.name, logFormat.row.name, auditLogPath.row.name,
    ]
}

/// What became of a reload.
package enum ReloadOutcome: Sendable, Equatable {
    case applied(ReloadDifference)
    /// Nothing was changed. Never empty.
    case refused([String])
}
