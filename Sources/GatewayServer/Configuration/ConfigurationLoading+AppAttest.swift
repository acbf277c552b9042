import AppAttest

/// App Attest: which apps, from where, under which root.
extension ConfigurationLoader {
    mutating func attestation() -> GatewayConfiguration.Attestation? {
        let apps = apps()
        let environment = read(SettingTable.appAttestEnvironment)
        let categories = read(SettingTable.validationCategories)
        let root = customRoot()
        guard !apps.isEmpty else {
            warnWithoutApps(SettingTable.rootPath)
            warnWithoutApps(SettingTable.appAttestEnvironment)
            warnWithoutApps(SettingTable.validationCategories)
            return nil
        }
        return GatewayConfiguration.Attestation(
            apps: apps, environments: environment.environments, validationCategories: categories, customRoot: root)
    }

    /// The team's apps and then the further ones, each once.
    private mutating func apps() -> [AppID] {
        let team = read(SettingTable.teamID)
        let bundles = read(SettingTable.bundleIDs)
        let further = read(SettingTable.appIDs)
        requirePair(SettingTable.teamID, with: SettingTable.bundleIDs)
        requirePair(SettingTable.bundleIDs, with: SettingTable.teamID)
        let ofTeam = team.map { team in bundles.compactMap { AppID(teamID: team, bundleID: $0) } } ?? []
        var seen: Set<AppID> = []
        return (ofTeam + further).filter { seen.insert($0).inserted }
    }

    private mutating func requirePair(_ setting: Setting<some Any>, with other: Setting<some Any>) {
        guard isSet(setting) && !isSet(other) else { return }
        refuse(
            setting.row.name, "is set without \(other.row.name)",
            "An app is told by both; set both, or neither.", involving: [setting.row.name, other.row.name])
    }

    private mutating func customRoot() -> GatewayConfiguration.CustomRoot? {
        let path = read(SettingTable.rootPath)
        let isAllowed = read(SettingTable.allowCustomRoot)
        guard let path else {
            if isAllowed { warn(SettingTable.allowCustomRoot, "has no effect without APPATTEST_ROOT_CA_PATH.") }
            return nil
        }
        guard isAllowed else {
            refuse(
                SettingTable.rootPath.row.name, "replaces Apple's root, which isn't allowed",
                "Remove it. For tests with simulated devices set APPATTEST_ALLOW_CUSTOM_ROOT=true besides.",
                involving: [SettingTable.allowCustomRoot.row.name])
            return nil
        }
        warn(
            SettingTable.rootPath,
            "Apple's root is replaced: whoever holds the key of this one can register any device.")
        return checkedRoot(path).map { GatewayConfiguration.CustomRoot(path: path, pem: $0) }
    }

    private mutating func warnWithoutApps(_ setting: Setting<some Any>) {
        guard isSet(setting) else { return }
        warn(setting, "has no effect without APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or APPATTEST_APP_IDS.")
    }
}
