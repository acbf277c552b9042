import AppAttest

/// App Attest: the apps, the environments and the trust root.
extension ConfigurationLoader {
    mutating func attestation() -> GatewayConfiguration.Attestation? {
        let attestation = read(\.attestation)
        let apps = apps(attestation)
        let root = customRoot(attestation)
        guard !apps.isEmpty else {
            warnWithoutApps(settings.attestation.rootPath)
            warnWithoutApps(settings.attestation.environment)
            warnWithoutApps(settings.attestation.validationCategories)
            return nil
        }
        return GatewayConfiguration.Attestation(
            apps: apps, environments: attestation.environment.environments,
            validationCategories: attestation.validationCategories, customRoot: root)
    }

    /// The team's apps, then the additional ones, without duplicates.
    private mutating func apps(_ attestation: SectionValues<AttestationSection>) -> [AppID] {
        let settings = settings.attestation
        requirePair(settings.teamID, with: settings.bundleIDs)
        requirePair(settings.bundleIDs, with: settings.teamID)
        let ofTeam =
            attestation.teamID.map { team in
                attestation.bundleIDs.compactMap { AppID(teamID: team, bundleID: $0) }
            } ?? []
        warnOfPrefixes(settings.bundleIDs, ofTeam)
        warnOfPrefixes(settings.appIDs, attestation.appIDs)
        var seen: Set<AppID> = []
        return (ofTeam + attestation.appIDs).filter { seen.insert($0).inserted }
    }

    /// Apple's pages show team and bundle in one text. A bundle that begins with a team is the app of no device.
    private mutating func warnOfPrefixes(_ setting: any AnySetting, _ apps: [AppID]) {
        for app in apps {
            guard let inner = AppID(app.bundleID) else { continue }
            warn(
                setting,
                "has the bundle \(app.bundleID), which begins with what looks like a team: the bundle alone is \(inner.bundleID)."
            )
        }
    }

    private mutating func requirePair(_ setting: any AnySetting, with other: any AnySetting) {
        guard isSet(setting) && !isSet(other) else { return }
        refuse(
            setting, "is set without \(other.row.name)", "An app is identified by both; set both, or neither.",
            involving: [setting, other])
    }

    private mutating func customRoot(
        _ attestation: SectionValues<AttestationSection>
    ) -> GatewayConfiguration.CustomRoot? {
        let settings = settings.attestation
        guard let path = attestation.rootPath else {
            if attestation.allowsCustomRoot {
                warn(settings.allowsCustomRoot, "has no effect without APPATTEST_ROOT_CA_PATH.")
            }
            return nil
        }
        guard attestation.allowsCustomRoot else {
            refuse(
                settings.rootPath, "replaces Apple's root, which isn't allowed",
                "Remove it. For tests with simulated devices set APPATTEST_ALLOW_CUSTOM_ROOT=true too.",
                involving: [settings.allowsCustomRoot])
            return nil
        }
        warn(settings.rootPath, "Apple's root is replaced: the holder of this one's key can register any device.")
        return checkedRoot(path).map { GatewayConfiguration.CustomRoot(path: path, pem: $0) }
    }

    private mutating func warnWithoutApps(_ setting: any AnySetting) {
        guard isSet(setting) else { return }
        warn(setting, "has no effect without APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or APPATTEST_APP_IDS.")
    }
}
