/// Who is admitted, beside the ways in that have settings of their own.
extension ConfigurationLoader {
    mutating func gate() -> GatewayConfiguration.Gate {
        let requiresCredentials = read(SettingTable.requireAppAuth)
        let origins = read(SettingTable.allowedOrigins)
        let allowsMissingOrigin = read(SettingTable.allowMissingOrigin)
        let secretsPath = sharedSecretsPath()
        let blockListPath = read(SettingTable.blockListPath)
        return GatewayConfiguration.Gate(
            requiresCredentials: requiresCredentials, allowedOrigins: origins, allowsMissingOrigin: allowsMissingOrigin,
            sharedSecretsPath: secretsPath, blockListPath: blockListPath)
    }

    /// A mode without its file would lock everybody out, and a file without its mode looks like a lock and isn't one.
    private mutating func sharedSecretsPath() -> String? {
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
        return mode == .sharedSecret ? path : nil
    }

    /// A gate that nobody can pass is a mistake, and one that everybody can pass is worth a word.
    mutating func checkWaysIn(_ gate: GatewayConfiguration.Gate, hasApps: Bool, hasAuthority: Bool) {
        guard gate.requiresCredentials else {
            let who = gate.sharedSecretsPath == nil ? "anybody who reaches the port" : "whoever has a shared secret"
            warn(SettingTable.requireAppAuth, "is false: \(who) reaches the service behind it.")
            return
        }
        guard !hasApps && !hasAuthority else { return }
        let ways = [
            SettingTable.teamID.row.name, SettingTable.bundleIDs.row.name, SettingTable.appIDs.row.name,
            SettingTable.clientCAPath.row.name, SettingTable.requireAppAuth.row.name,
        ]
        let alone = gate.sharedSecretsPath == nil ? "" : " Where a shared secret is enough, set it to false."
        refuse(
            SettingTable.requireAppAuth.row.name, "is true, and nobody could be admitted",
            "Set APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or MTLS_CLIENT_CA_PATH." + alone, involving: ways)
    }
}
