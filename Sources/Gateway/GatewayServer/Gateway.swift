import Admission
import AppAttest
import KeyStore
package import Logging
import Observability
import Reactors
import Relay
import RelayCore
package import Settings
import Synchronization

/// The composition root: makes a serving engine from a configuration.
package final class Gateway: Sendable {
    package static let version = "0.2.0"

    /// The gateway's URL.
    let address: String
    /// Of the internal listener; nil: there is none.
    let internalAddress: String?
    let server: RelayServer
    let pool: ReactorPool
    let logger: Logger
    let control: ControlDesk?
    let source: ConfigurationSource
    let state: GatewayState
    /// The file of the internal listener, if that is a Unix socket, is this process' to remove.
    let ownsInternalFile: Bool
    let reloads = ReloadQueue()
    let copyovers = CopyoverQueue()
    let manager: ServiceManager
    /// Held while the new process begins to serve. A shutdown waits for it.
    let handingOver = Mutex(())
    /// To the process that has replaced this one.
    let successor = Mutex<HandoverChannel?>(nil)
    /// To the process that this one has replaced.
    let predecessor = Mutex<HandoverChannel?>(nil)
    /// Asked for at the start: once the file is replaced, which a copyover follows, the kernel calls it deleted.
    let program = NewProcess.programAtStart
    /// Nil without a store.
    let revocations: RevocationWatcher?
    let inspector: GatewayInspector
    /// Changed only by reloads.
    let current: CurrentSnapshot
    private let standardTarget: TargetEndpoint

    /// Opens the store, starts the reactors and listens. When it returns, clients are served.
    ///
    /// - Parameters:
    ///   - source: the source of `loaded`, for reloads.
    ///   - sockets: listening sockets of another process, served instead of those that the settings name.
    ///   - member: the fleet's id of the process that this one replaces.
    package init(
        _ loaded: LoadedConfiguration, from source: ConfigurationSource, sockets: InheritedSockets = InheritedSockets(),
        member: String? = nil, logger: Logger
    ) throws(GatewayError) {
        FileLimit.raise()
        let configuration = loaded.configuration
        try Self.checkPlainText(sockets, configuration)
        let folder = ServiceManager.stateDirectory(source.environment)
        let state = try GatewayState(configuration, member: member, folder: folder, logger: logger)
        let (start, live) = (configuration.atStart, configuration.live)
        let pinned = StartupPinned(live)
        let parts = try GatewayParts(live, pinned, state: state, logger: logger)
        try state.putInForce(GatewayParts.window(live, pinned), after: nil)
        self.logger = logger
        self.source = source
        manager = ServiceManager(environment: source.environment, logger: logger)
        self.state = state
        let current = CurrentSnapshot(
            GatewaySnapshot(settings: SettingsInEffect(loaded), pinned: pinned, live: live, parts: parts))
        self.current = current
        standardTarget = configuration.standardTarget
        pool = try gatewayErrors { () throws(ReactorError) in
            try ReactorPool(
                count: start.process.reactorThreads ?? Cores.count, census: state.census,
                logger: logger)
        }
        server = RelayServer(settings: parts.relay, pool: pool)
        let hosts = start.listener.hosts
        let (server, pool) = (server, pool)
        let inspector = GatewayInspector(
            state: state, pulse: ReactorPulse(pool.reactors),
            storeProbe: state.store.map { StoreProbe($0, logger: logger) }, current: current,
            pending: { server.registrationCount })
        self.inspector = inspector
        revocations = try state.store.map { store throws(GatewayError) in
            try RevocationWatcher(store, state.tokens?.keys, state.fleet.blockList, of: server, logger: logger)
        }
        state.watcher.set(revocations)
        let port = try gatewayErrors { () throws(ReactorError) in
            do throws(ReactorError) {
                // Clients wait in the kernel's queues until everything else listens.
                return try server.listen(
                    hosts: hosts.map(\.text), port: UInt16(start.listener.port), edge: parts.edge,
                    material: parts.material, inherited: sockets.edge.map(\.descriptor), accepts: false)
            } catch {
                pool.stop()
                throw error
            }
        }
        state.tokens?.port.set(Int(port))
        try state.fleet.join(
            state, server, pool, port: Int(port), parts.fleet?.listener, sockets: sockets, logger: logger)
        ownsInternalFile = sockets.internalListener.map { $0.ownedPath != nil } ?? true
        let scheme = configuration.tls == nil ? "http" : "https"
        let names = sockets.edge.isEmpty ? hosts.map { "\($0):\(port)" } : sockets.edgeNames
        address = names.map { "\(scheme)://\($0)" }.joined(separator: " and ")
        let (reloads, revocations, copyovers) = (reloads, revocations, copyovers)
        let page = PageAddress.origin(of: configuration, port: Int(port))
        control = try start.tickets.controlSocketPath.map { path throws(GatewayError) in
            try ControlDesk(
                path: path, inherited: sockets.control, on: pool, server: server, tickets: state.tickets,
                accounts: start.passkeys == nil ? nil : state.store?.accountStore, reloads: reloads,
                copyovers: copyovers, revocations: revocations, page: page, audit: state.audit, logger: logger)
        }
        let desks = ConsoleDesks(
            devices: state.store.map { KeyDesk($0.keys, audit: state.audit, server: server) },
            tokens: state.store.map { TokenDesk($0.developmentTokens, audit: state.audit) })
        internalAddress = try parts.listening.map { listening throws(GatewayError) in
            try sockets.checkInternalListener(replacing: listening.address)
            do throws(ReactorError) {
                return try server.listenInternally(
                    on: listening, inspection: inspector.inspection, inherited: sockets.internalListener,
                    desks: desks)
            } catch {
                guard case .bindFailed(let address, let reason) = error else { throw .internalListener("\(error)") }
                throw .internalListener("\(address): \(reason)")
            }
        }
        sockets.closeUnused(
            fleet: !state.fleet.listens, internalListener: start.internalListener.address == nil,
            control: start.tickets.controlSocketPath == nil)
        if sockets.accepts { pool.setAccepting(true) }
        for warning in loaded.warningsNow { logger.warning("\(warning)") }
    }

    /// Sockets of another process may lead elsewhere than `BIND_HOST` says.
    private static func checkPlainText(
        _ sockets: InheritedSockets, _ configuration: GatewayConfiguration
    ) throws(GatewayError) {
        guard configuration.tls == nil, !configuration.inboundTLS.allowsPlainText,
            let open = sockets.edge.first(where: { !$0.isLocal })
        else { return }
        throw .edge(
            "\(open.name) was opened by another process, and INBOUND_TLS_MODE is off: other machines could reach it. Use TLS,"
                + " or set ALLOW_INSECURE_INBOUND_NO_TLS=true.")
    }

    /// Writes the ready line. Scripts wait for it, so it is written at every `LOG_LEVEL`, in the format of the log.
    func announce() {
        var logger = logger
        logger.logLevel = min(logger.logLevel, .notice)
        if let internalAddress { logger.notice("answering internal requests on \(internalAddress)") }
        logger.notice(
            "listening on \(address)",
            metadata: [
                LogKeys.version: "\(Self.version)", LogKeys.target: "\(standardTarget.text)",
                LogKeys.settings: "\(source.environmentFile ?? "environment")",
            ])
    }
}

/// Why the gateway can't start, in words for the operator.
package enum GatewayError: Error, CustomStringConvertible {
    case store(path: String, String)
    case fleetStore(String, String)
    case auditLog(String)
    case trustRoot(String)
    case targetTLS(String)
    case control(String)
    case internalListener(String)
    case fleetListener(String)
    case edge(String)

    package var description: String {
        switch self {
        case .store(let path, let reason):
            "the key store \(NamedFile.absolute(path)) can't be used: \(reason). Check ATTESTED_KEYS_PATH and its folder."
        case .fleetStore(let name, let reason): "the database \(name) can't be used: \(reason). Check STORE_URL."
        case .auditLog(let reason): "the audit log can't be written: \(reason). Check AUDIT_LOG_PATH."
        case .trustRoot(let reason): "APPATTEST_ROOT_CA_PATH holds no usable certificate: \(reason)"
        case .targetTLS(let reason): "TLS toward the target can't be set up: \(reason)"
        case .control(let reason): "the control socket can't be opened: \(reason). Check CONTROL_SOCKET_PATH."
        case .internalListener(let reason):
            "the internal listener can't be opened: \(reason). Check ADMIN_BIND."
        case .fleetListener(let reason):
            "the listener for other gateways can't be opened: \(reason). Check FLEET_BIND."
        case .edge(let reason): reason
        }
    }
}

/// Reactor errors in the operator's words.
func gatewayErrors<Result>(_ body: () throws(ReactorError) -> Result) throws(GatewayError) -> Result {
    do throws(ReactorError) {
        return try body()
    } catch {
        switch error {
        case .contextFailed:
            throw .edge("libwebsockets could not start: is libwebsockets-evlib-uv installed?")
        case .vhostFailed(let reason): throw .edge("TLS could not be set up: \(reason)")
        case .bindFailed(let address, let reason):
            throw .edge("\(address) can't be listened on: \(reason). Check BIND_HOST and WS_PORT.")
        case .portNotPermitted(let address):
            throw .edge(
                "\(address) can't be listened on: a port below 1024 needs the capability CAP_NET_BIND_SERVICE. With"
                    + " systemd set AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit; otherwise run"
                    + " `setcap cap_net_bind_service=+ep` on the executable, or set WS_PORT to 1024 or above.")
        }
    }
}

extension GatewayConfiguration {
    /// The process' logger, on standard error.
    package func makeLogger() -> Logger {
        let (format, level) = (self.logs.format, self.logs.level)
        return Logger(label: "portcullis") { label in
            switch format {
            case .json: JSONLogHandler(label: label, level: level)
            case .text: TextLogHandler(label: label, level: level)
            }
        }
    }
}
