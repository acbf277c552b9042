/// The rest of the configuration, and how its parts must fit together.
extension ConfigurationLoader {
    /// Nil when something that can't be left out is missing; an error says so.
    mutating func gatewayConfiguration() -> GatewayConfiguration? {
        let listener = listener()
        let target = target()
        let (telnet, dialects) = (telnet(), dialects())
        let gate = gate()
        let attestation = attestation()
        let clientCertificates = clientCertificates()
        let keyStorage = keyStorage()
        if attestation != nil, let obstacle = ConfigurationLoadingFile.obstacle(toWriting: keyStorage.path) {
            fail(SettingTable.keysPath, obstacle.problem, obstacle.remedy)
        }
        checkWaysIn(gate, hasApps: attestation != nil, hasAuthority: clientCertificates != nil)
        let (tickets, proxies) = (tickets(), proxies())
        let limits = limits()
        let connections = connections()
        let session = session()
        checkSessions(session, connections)
        let (process, logs) = (process(), logs())
        // `throwErrors` has something to say where a part is missing.
        guard let target else { return nil }
        return GatewayConfiguration(
            listener: listener, target: target, telnet: telnet, dialects: dialects, gate: gate, appAttest: attestation,
            clientCertificates: clientCertificates, keyStore: keyStorage, tickets: tickets, proxies: proxies,
            limits: limits, connections: connections,
            session: session, process: process, logs: logs)
    }

    private mutating func gate() -> GatewayConfiguration.Gate {
        let requiresCredentials = read(SettingTable.requireAppAuth)
        let origins = read(SettingTable.allowedOrigins)
        return GatewayConfiguration.Gate(requiresCredentials: requiresCredentials, allowedOrigins: origins)
    }

    /// A gate that nobody can pass is a mistake, and one that everybody can pass is worth a word.
    private mutating func checkWaysIn(_ gate: GatewayConfiguration.Gate, hasApps: Bool, hasAuthority: Bool) {
        guard gate.requiresCredentials else {
            warn(SettingTable.requireAppAuth, "is false: anybody who reaches the port reaches the service behind it.")
            return
        }
        guard !hasApps && !hasAuthority else { return }
        let ways = [
            SettingTable.teamID.row.name, SettingTable.bundleIDs.row.name, SettingTable.appIDs.row.name,
            SettingTable.clientCAPath.row.name, SettingTable.requireAppAuth.row.name,
        ]
        refuse(
            SettingTable.requireAppAuth.row.name, "is true, and nobody could be admitted",
            "Set APPATTEST_TEAM_ID and APPATTEST_BUNDLE_ID, or MTLS_CLIENT_CA_PATH.", involving: ways)
    }

    mutating func keyStorage() -> GatewayConfiguration.KeyStorage {
        let path = read(SettingTable.keysPath)
        let busy = read(SettingTable.storeBusy)
        return GatewayConfiguration.KeyStorage(path: path, busyMilliseconds: busy)
    }

    private mutating func limits() -> GatewayConfiguration.Limits {
        GatewayConfiguration.Limits(
            challengeLifetimeSeconds: read(SettingTable.challengeLifetime),
            maximumSpentChallenges: read(SettingTable.maximumSpentChallenges),
            challengesPerMinute: read(SettingTable.challengesPerMinute),
            registrationsPerMinute: read(SettingTable.registrationsPerMinute),
            failedUpgradesPerMinute: read(SettingTable.failedUpgradesPerMinute),
            verificationsPerSecond: read(SettingTable.verificationsPerSecond),
            maximumLimiterEntries: read(SettingTable.maximumLimiterEntries))
    }

    private mutating func connections() -> GatewayConfiguration.Connections {
        GatewayConfiguration.Connections(
            maximum: read(SettingTable.maximumConnections),
            maximumPerAddress: read(SettingTable.maximumConnectionsPerAddress),
            keepAliveSeconds: read(SettingTable.keepAlive),
            headerTimeoutMilliseconds: read(SettingTable.headerTimeout),
            bodyTimeoutMilliseconds: read(SettingTable.bodyTimeout),
            maximumHeaderBytes: read(SettingTable.maximumHeaderBytes),
            maximumBodyBytes: read(SettingTable.maximumBodyBytes))
    }

    private mutating func session() -> GatewayConfiguration.Session {
        GatewayConfiguration.Session(
            maximumSessions: read(SettingTable.maximumSessions),
            maximumMessageBytes: read(SettingTable.maximumMessageBytes),
            pingIntervalSeconds: read(SettingTable.pingInterval),
            peerSilenceSeconds: read(SettingTable.peerSilence),
            clientBufferBytes: read(SettingTable.clientBufferBytes),
            targetBufferBytes: read(SettingTable.targetBufferBytes),
            closeFlushMilliseconds: read(SettingTable.closeFlush))
    }

    private mutating func checkSessions(
        _ session: GatewayConfiguration.Session, _ connections: GatewayConfiguration.Connections
    ) {
        if session.peerSilenceSeconds <= session.pingIntervalSeconds {
            refuse(
                SettingTable.peerSilence.row.name, "isn't longer than PING_INTERVAL_SECONDS",
                "A quiet client could be dropped before it is asked for a sign of life; three times as long is usual.",
                involving: [SettingTable.pingInterval.row.name, SettingTable.peerSilence.row.name])
        }
        if let sessions = session.maximumSessions, let total = connections.maximum, sessions > total {
            warn(SettingTable.maximumSessions, "is above MAX_CONNECTIONS, which is reached first.")
        }
    }

    private mutating func process() -> GatewayConfiguration.Process {
        let process = GatewayConfiguration.Process(
            reactorThreads: read(SettingTable.reactorThreads),
            shutdownGraceMilliseconds: read(SettingTable.shutdownGrace),
            shutdownDeadlineMilliseconds: read(SettingTable.shutdownDeadline))
        if process.shutdownDeadlineMilliseconds <= process.shutdownGraceMilliseconds {
            refuse(
                SettingTable.shutdownDeadline.row.name, "isn't later than SHUTDOWN_GRACE_MS",
                "Leave time to close sessions after the grace.",
                involving: [SettingTable.shutdownGrace.row.name, SettingTable.shutdownDeadline.row.name])
        }
        return process
    }

    private mutating func logs() -> GatewayConfiguration.Logs {
        let level = read(SettingTable.logLevel)
        let format = read(SettingTable.logFormat)
        let auditPath = read(SettingTable.auditLogPath)
        if let auditPath, let obstacle = ConfigurationLoadingFile.obstacle(toWriting: auditPath) {
            fail(SettingTable.auditLogPath, obstacle.problem, obstacle.remedy)
        }
        return GatewayConfiguration.Logs(level: level, format: format, auditLogPath: auditPath)
    }
}
