extension SettingTable {
    /// All rows, section by section: the order of the example file and of `check-config`.
    static let rows: [SettingRow] = [
        bindHost.row, port.row,
        targetHost.row, targetPort.row, dialTimeout.row, targetMode.row, targetAllowlist.row, targetPorts.row,
        routes.row,
        targetTLSMode.row, targetCAPath.row, targetPins.row, proxyProtocol.row, targetKeepAlive.row,
        encoding.row, mxp.row, maximumSubnegotiationBytes.row, maximumCompressionRatio.row, inflatedBytesPerSecond.row,
        defaultDialect.row, dialectWait.row, connectWait.row,
        inboundTLSMode.row, allowInsecureInbound.row, certificatePath.row, keyPath.row, handshakeTimeout.row,
        requireAppAuth.row, authMode.row, sharedSecretsPath.row, blockListPath.row, allowedOrigins.row,
        allowMissingOrigin.row,
        teamID.row, bundleIDs.row, appIDs.row, appAttestEnvironment.row, rootPath.row, allowCustomRoot.row,
        validationCategories.row,
        clientCAPath.row, clientCRLPath.row,
        keysPath.row, storeBusy.row,
        ticketLifetime.row, maximumTickets.row, controlSocketPath.row, enableWebClient.row, publicOrigin.row,
        trustedProxies.row, trustedProxyHeader.row, inboundProxyProtocol.row,
        requestsPerSecond.row, challengeLifetime.row, maximumSpentChallenges.row, challengesPerMinute.row,
        registrationsPerMinute.row,
        failedUpgradesPerMinute.row, verificationsPerSecond.row, maximumLimiterEntries.row,
        maximumConnections.row, maximumConnectionsPerAddress.row, handshakesPerSecond.row,
        handshakesPerSecondPerAddress.row, keepAlive.row, headerTimeout.row, bodyTimeout.row,
        upgradeTimeout.row, maximumHeaderBytes.row, maximumBodyBytes.row,
        maximumSessions.row, maximumSessionsPerDevice.row, maximumSessionsPerAddress.row, maximumMessageBytes.row,
        pingInterval.row, peerSilence.row, clientBufferBytes.row, targetBufferBytes.row, closeFlush.row,
        compression.row, compressionWindowBits.row, compressionContext.row, compressionMinimumBytes.row,
        compressionLevel.row, compressionSessionBytes.row, compressionTotalBytes.row,
        resumeGrace.row, sessionTimeout.row, outputBufferBytes.row, slowClient.row, sessionEvents.row,
        messagesPerSecond.row, messagesPerSecondPerAddress.row, clientBytesPerSecond.row, targetBytesPerSecond.row,
        reactorThreads.row, shutdownGrace.row, shutdownDeadline.row, drainReconnect.row,
        logLevel.row, logFormat.row, auditLogPath.row, auditRefusals.row, auditFull.row,
    ]

    static let names = Set(rows.map(\.name))
}
