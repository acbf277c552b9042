import RelayCore

/// Makes the parts of the configuration and checks that they fit together. Sections without a rule don't appear here.
extension ConfigurationLoader {
    /// Nil if something required is missing; an error says so.
    mutating func gatewayConfiguration() -> GatewayConfiguration? {
        let tls = tls()
        let target = target()
        let (secrets, blockList) = (sharedSecrets(), blockList())
        let attestation = attestation()
        let clientCertificates = clientCertificates()
        let fleetStore = fleetStore()
        let tickets = tickets()
        let passkeys = passkeys()
        let usesStoreFile =
            fleetStore == nil && (attestation != nil || passkeys != nil || keepsTickets(tickets))
        if usesStoreFile { checkKeyStore() }
        if let path = tickets.controlSocketPath { checkControlSocket(path) }
        checkInternalListener()
        let internalToken = internalToken()
        let internalTLS = internalTLS(besides: tls)
        checkInternalAccess(hasToken: internalToken != nil, internalTLS)
        let internalSocketGroup = internalSocketGroup()
        let fleetListener = fleetListener(hasStore: fleetStore != nil)
        checkTokens(hasApps: attestation != nil, hasAccounts: passkeys != nil, tls)
        let proxies = proxies()
        checkPublicOrigin(tls, read(\.proxies))
        let isOpen = read(settings.gate.appAuth) == .off
        checkReport()
        let methods = [ConfiguredMethod].all.routeNames(
            on: AdmissionConfiguration(
                gate: read(\.gate), appAttest: attestation, passkeys: passkeys, clientCertificates: clientCertificates,
                tickets: tickets, signedRequests: read(\.signedRequests)))
        checkMethods(methods, isOpen: isOpen, needsSecret: secrets != nil)
        if target != nil { checkRoutes(read(settings.target.routes), methods) }
        checkSessions()
        checkProcess()
        checkLogs()
        readAll()
        // `throwErrors` has something to say if a part is missing.
        guard let target else { return nil }
        return GatewayConfiguration(
            values: values, tls: tls, standardTarget: target.standard, targetPolicy: target.policy,
            sharedSecrets: secrets, blockList: blockList, appAttest: attestation, passkeys: passkeys,
            clientCertificates: clientCertificates, trustedProxies: proxies, internalToken: internalToken,
            internalTLS: internalTLS, internalSocketGroup: internalSocketGroup, fleetStore: fleetStore,
            fleetListener: fleetListener, usesStoreFile: usesStoreFile)
    }

    /// Without App Attest a file has only the next tickets of sessions, and only if the operator has named it.
    private mutating func keepsTickets(_ tickets: SectionValues<TicketSection>) -> Bool {
        let canCome = tickets.servesWebClient || tickets.controlSocketPath != nil
        guard canCome, read(settings.resume.graceMinutes) > 0, !isSet(settings.keyStore.url) else { return false }
        guard isSet(settings.keyStore.path) else {
            if tickets.servesWebClient, read(settings.gate.appAuth) == .required {
                warn(
                    settings.tickets.servesWebClient,
                    "is true without ATTESTED_KEYS_PATH: when the gateway is restarted, its players need new tickets.")
            }
            return false
        }
        return true
    }

    private mutating func checkKeyStore() {
        guard let obstacle = NamedFile.obstacle(toWriting: read(settings.keyStore.path)) else { return }
        fail(settings.keyStore.path, obstacle.problem, obstacle.remedy)
    }

    private mutating func checkSessions() {
        let (session, connections) = (read(\.session), read(\.connections))
        let settings = settings.session
        if let sessions = session.maximumSessions, let total = connections.maximum, sessions > total {
            warn(settings.maximumSessions, "is above MAX_CONNECTIONS, which is reached first.")
        }
    }

    private mutating func checkProcess() {
        let process = read(\.process)
        guard process.shutdownDeadlineMilliseconds <= process.shutdownGraceMilliseconds else { return }
        let settings = settings.process
        refuse(
            settings.shutdownDeadlineMilliseconds, "isn't later than SHUTDOWN_GRACE_MS",
            "Leave time to close sessions after the grace.",
            involving: [settings.shutdownGraceMilliseconds, settings.shutdownDeadlineMilliseconds])
    }

    private mutating func checkLogs() {
        let path = read(settings.logs.auditLogPath)
        guard let path, let obstacle = NamedFile.obstacle(toWriting: path) else { return }
        fail(settings.logs.auditLogPath, obstacle.problem, obstacle.remedy)
    }
}
