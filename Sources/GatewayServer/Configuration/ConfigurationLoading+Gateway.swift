import RelayCore

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
        let (tickets, proxies) = (tickets(), proxies())
        if let path = tickets.controlSocketPath { checkControlSocket(path) }
        let methods = [ConfiguredMethod].all.routeNames(
            on: AdmissionConfiguration(
                gate: gate, appAttest: attestation, clientCertificates: clientCertificates, tickets: tickets))
        checkMethods(methods, gate)
        if let target { checkRoutes(target.routes, methods) }
        let limits = limits()
        let connections = connections()
        let session = session()
        let compression = compression()
        let (resume, traffic) = (resume(), traffic())
        checkSessions(session, connections)
        let (process, logs) = (process(), logs())
        // `throwErrors` has something to say where a part is missing.
        guard let target else { return nil }
        return GatewayConfiguration(
            listener: listener, target: target, telnet: telnet, dialects: dialects, gate: gate, appAttest: attestation,
            clientCertificates: clientCertificates, keyStore: keyStorage, tickets: tickets, proxies: proxies,
            limits: limits, connections: connections,
            session: session, compression: compression, resume: resume, traffic: traffic, process: process, logs: logs)
    }

    mutating func keyStorage() -> GatewayConfiguration.KeyStorage {
        let path = read(SettingTable.keysPath)
        let busy = read(SettingTable.storeBusy)
        return GatewayConfiguration.KeyStorage(path: path, busyMilliseconds: busy)
    }

    private mutating func limits() -> GatewayConfiguration.Limits {
        GatewayConfiguration.Limits(
            requestsPerSecond: read(SettingTable.requestsPerSecond),
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
            handshakesPerSecond: read(SettingTable.handshakesPerSecond),
            handshakesPerSecondPerAddress: read(SettingTable.handshakesPerSecondPerAddress),
            keepAliveSeconds: read(SettingTable.keepAlive),
            headerTimeoutMilliseconds: read(SettingTable.headerTimeout),
            bodyTimeoutMilliseconds: read(SettingTable.bodyTimeout),
            upgradeTimeoutMilliseconds: read(SettingTable.upgradeTimeout),
            maximumHeaderBytes: read(SettingTable.maximumHeaderBytes),
            maximumBodyBytes: read(SettingTable.maximumBodyBytes))
    }

    private mutating func session() -> GatewayConfiguration.Session {
        GatewayConfiguration.Session(
            maximumSessions: read(SettingTable.maximumSessions),
            maximumPerDevice: read(SettingTable.maximumSessionsPerDevice),
            maximumPerAddress: read(SettingTable.maximumSessionsPerAddress),
            maximumMessageBytes: read(SettingTable.maximumMessageBytes),
            pingIntervalSeconds: read(SettingTable.pingInterval),
            peerSilenceSeconds: read(SettingTable.peerSilence),
            clientBufferBytes: read(SettingTable.clientBufferBytes),
            targetBufferBytes: read(SettingTable.targetBufferBytes),
            closeFlushMilliseconds: read(SettingTable.closeFlush))
    }

    private mutating func compression() -> GatewayConfiguration.Compression {
        let compression = GatewayConfiguration.Compression(
            standard: read(SettingTable.compression), windowBits: read(SettingTable.compressionWindowBits),
            context: read(SettingTable.compressionContext),
            minimumBytes: read(SettingTable.compressionMinimumBytes), level: read(SettingTable.compressionLevel),
            sessionBytes: read(SettingTable.compressionSessionBytes),
            totalBytes: read(SettingTable.compressionTotalBytes))
        if compression.totalBytes < compression.sessionBytes {
            refuse(
                SettingTable.compressionTotalBytes.row.name, "is less than WS_COMPRESSION_SESSION_BYTES",
                "Not even one session would get what it may have: raise it, or lower the other.",
                involving: [
                    SettingTable.compressionTotalBytes.row.name, SettingTable.compressionSessionBytes.row.name,
                ])
        }
        return compression
    }

    private mutating func resume() -> GatewayConfiguration.Resume {
        GatewayConfiguration.Resume(
            graceMinutes: read(SettingTable.resumeGrace), sessionTimeoutHours: read(SettingTable.sessionTimeout),
            outputBufferBytes: read(SettingTable.outputBufferBytes), slowClientSeconds: read(SettingTable.slowClient),
            tellsTarget: read(SettingTable.sessionEvents))
    }

    private mutating func traffic() -> GatewayConfiguration.Traffic {
        GatewayConfiguration.Traffic(
            messagesPerSecond: read(SettingTable.messagesPerSecond),
            messagesPerSecondPerAddress: read(SettingTable.messagesPerSecondPerAddress),
            clientBytesPerSecond: read(SettingTable.clientBytesPerSecond),
            targetBytesPerSecond: read(SettingTable.targetBytesPerSecond))
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
            shutdownDeadlineMilliseconds: read(SettingTable.shutdownDeadline),
            drainReconnectMilliseconds: read(SettingTable.drainReconnect))
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
        let auditRefusals = read(SettingTable.auditRefusals)
        let auditFull = read(SettingTable.auditFull)
        if let auditPath, let obstacle = ConfigurationLoadingFile.obstacle(toWriting: auditPath) {
            fail(SettingTable.auditLogPath, obstacle.problem, obstacle.remedy)
        }
        return GatewayConfiguration.Logs(
            level: level, format: format, auditLogPath: auditPath, auditRefusalsPerMinute: auditRefusals,
            auditFull: auditFull)
    }
}
