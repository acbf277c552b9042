import Admission
import RelayCore

/// Which clients are admitted, besides the admission methods that have settings of their own.
extension ConfigurationLoader {
    /// Bytes; room for ``SharedSecrets/maximumCount`` with a comment each.
    private static let maximumSecretsBytes = 65_536
    /// Bytes; room for ``BlockList/maximumCount`` of the longest entries.
    private static let maximumBlockListBytes = 16_777_216

    mutating func gate() -> GatewayConfiguration.Gate {
        let requiresCredentials = read(SettingTable.requireAppAuth)
        let origins = read(SettingTable.allowedOrigins)
        let allowsMissingOrigin = read(SettingTable.allowMissingOrigin)
        let secrets = sharedSecrets()
        let blockList = blockList()
        return GatewayConfiguration.Gate(
            requiresCredentials: requiresCredentials, allowedOrigins: origins, allowsMissingOrigin: allowsMissingOrigin,
            sharedSecrets: secrets, blockList: blockList)
    }

    /// A mode without its file would lock everybody out, and a file without its mode looks like a lock and isn't one.
    private mutating func sharedSecrets() -> SharedSecrets? {
        let mode = read(SettingTable.authMode)
        let path = read(SettingTable.sharedSecretsPath)
        let names = [SettingTable.authMode.row.name, SettingTable.sharedSecretsPath.row.name]
        switch (mode, path) {
        case (.sharedSecret, nil):
            refuse(
                SettingTable.sharedSecretsPath.row.name, "isn't set, and AUTH_MODE is shared-secret",
                "Name the file with the secrets' hashes; docs/CONFIGURATION.md says how to make one.", involving: names)
        case (.none, .some):
            refuse(
                SettingTable.sharedSecretsPath.row.name, "is set while AUTH_MODE is none",
                "Set AUTH_MODE=shared-secret, or remove it.", involving: names)
        default: break
        }
        guard mode == .sharedSecret, let path else { return nil }
        if ConfigurationLoadingFile.isReadableByEverybody(path) {
            warn(
                SettingTable.sharedSecretsPath, "everybody on this machine can read the secrets' hashes: chmod 600 it.")
        }
        return list(SettingTable.sharedSecretsPath, path, maximumBytes: Self.maximumSecretsBytes) {
            (text: String) throws(OperatorListError) in try SharedSecrets(text)
        }
    }

    private mutating func blockList() -> BlockList {
        guard let path = read(SettingTable.blockListPath) else { return BlockList() }
        let list = list(SettingTable.blockListPath, path, maximumBytes: Self.maximumBlockListBytes) {
            (text: String) throws(OperatorListError) in
            try BlockList(text, kinds: [ConfiguredMethod].all.blockListKinds)
        }
        return list ?? BlockList()
    }

    /// What is in a file; nil after an error, which names the line.
    private mutating func list<List>(
        _ setting: Setting<String?>, _ path: String, maximumBytes: Int,
        _ parse: (String) throws(OperatorListError) -> List
    ) -> List? {
        let text: String
        do throws(SettingProblem) {
            text = try ConfigurationLoadingFile.text(path, maximumBytes: maximumBytes)
        } catch {
            fail(setting, error.problem, error.remedy)
            return nil
        }
        do throws(OperatorListError) {
            return try parse(text)
        } catch {
            let place = error.line.map { "whose line \($0)" } ?? "that"
            fail(setting, "names a file \(place) \(error.problem)", error.remedy)
            return nil
        }
    }

    /// A gate that no client can pass is a mistake, and one that every client can pass is worth a warning.
    mutating func checkMethods(_ methods: Set<String>, _ gate: GatewayConfiguration.Gate) {
        guard gate.requiresCredentials else {
            let who = gate.sharedSecrets == nil ? "anybody who reaches the port" : "whoever has a shared secret"
            warn(SettingTable.requireAppAuth, "is false: \(who) reaches the service behind it.")
            return
        }
        guard methods.isEmpty else { return }
        let alone = gate.sharedSecrets == nil ? "" : " Where a shared secret is enough, set it to false."
        refuse(
            SettingTable.requireAppAuth.row.name, "is true, and nobody could be admitted",
            "Set APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or MTLS_CLIENT_CA_PATH, or CONTROL_SOCKET_PATH for tickets."
                + alone, involving: Self.settingsOfMethods)
    }

    /// A route that no client can reach is probably a mistake.
    mutating func checkRoutes(_ routes: [Route], _ methods: Set<String>) {
        guard namesFailed.isDisjoint(with: Self.settingsOfMethods) else { return }
        for route in routes {
            guard let admitted = route.options.admit?.methods, admitted.isDisjoint(with: methods) else { continue }
            let names = admitted.sorted().joined(separator: "+")
            warn(SettingTable.routes, "nobody can enter the route \(route.name): no client comes in by \(names) here.")
        }
    }

    private static let settingsOfMethods = [
        SettingTable.teamID.row.name, SettingTable.bundleIDs.row.name, SettingTable.appIDs.row.name,
        SettingTable.clientCAPath.row.name, SettingTable.controlSocketPath.row.name,
        SettingTable.requireAppAuth.row.name,
    ]
}
