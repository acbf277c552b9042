import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreTestKit
import Logging
import Observability
import Reactors
import Relay
import RelayCore
import SettingsTestKit
import Synchronization
import Telnet
import Testing
import WireText

@testable import Admission
@testable import GatewayServer

/// Gateways of a fleet in one process, which share a directory of sessions and reach each other with real TLS. Each has
/// its own reactors, gate and sessions; anybody is admitted.
final class FleetBench: FleetMembers {
    final class Gateway: Sendable {
        let id: String
        let server: RelayServer
        let sessions: FleetSessions
        let fleetRelay: FleetRelay
        let drain: DrainSwitch
        let log = LineLog()
        let port: Int

        fileprivate init(_ id: String, _ bench: FleetBench, blocked: String?, _ tokens: Tokens) async throws {
            self.id = id
            let log = log
            let logger = Logger(label: "fleet") { _ in log }
            sessions = FleetSessions(bench.directory, gateway: id, members: bench, logger: logger)
            fleetRelay = FleetRelay(sessions, tls: try bench.dialling(), limits: bench.limits)
            drain = DrainSwitch()
            let names = DialectKind.subprotocols.map(\.name)
            var gate = GateSettings(
                drain: drain, leases: SessionLeases(maximum: nil), methods: [AnonymousMethod(isAllowed: true)])
            let directory = SessionDirectory(
                SessionLeaseLimits(perDevice: 100, perAddress: 100), announcer: sessions)
            if let methods = bench.methods { gate.methods = methods }
            gate.limits = UpgradeLimits(failedUpgradesPerMinute: 100_000)
            gate.findSession = { directory.find($0, at: $1) }
            if tokens != .off {
                let method = SessionTokenMethod { credential, time in
                    tokens == .forEverySession && directory.find(credential, at: time) != nil ? .anonymous : nil
                }
                gate.methods.insert(method, at: 0)
            }
            if let blocked { gate.blockList = try BlockList("address \(blocked)", kinds: []) }
            let metrics = GatewayMetrics()
            let audit = try AuditLog(path: bench.folder + "/\(id).audit", logger: logger)
            let target = try TargetEndpoint("127.0.0.1:\(bench.target.port)")
            var dialects = DialectSettings()
            dialects.telnet.greetsGMCP = false
            var settings = RelaySettings(
                targets: try TargetPolicy(TargetSettings(mode: .fixed, standard: target)),
                dialer: TargetDialer(
                    tlsMode: .plain, preferredTLS: nil, requiredTLS: nil, proxyHeader: .off, timeoutMilliseconds: 10_000
                ),
                dialects: dialects, session: SessionLimits(), traffic: TrafficSettings(), compression: .off,
                directory: directory,
                gate: Gate(gate), drain: drain, requests: RequestLimits(), attestation: nil, tickets: nil,
                servesWebClient: false, trustedProxies: TrustedProxies(), warnings: [], version: "0", audit: audit,
                journal: RefusalJournal(audit: audit, metrics: metrics, logger: logger, linesPerMinute: 100),
                whenAuditFails: .continue, metrics: metrics, logger: logger)
            settings.fleetRelay = fleetRelay
            sessions.announce(in: nil) {}
            let pool = try ReactorPool(
                count: 2, census: ConnectionCensus(maximum: 1_000, maximumPerAddress: 1_000), logger: logger)
            server = RelayServer(settings: settings, pool: pool)
            // Beside thousands of other tests a client may be slow.
            var limits = EdgeLimits()
            (limits.tlsHandshakeMilliseconds, limits.headerMilliseconds) = (60_000, 60_000)
            (limits.answerMilliseconds, limits.upgradeMilliseconds) = (60_000, 60_000)
            let edge = EdgeSettings(tls: nil, subprotocols: names, limits: limits)
            port = Int(try server.listen(hosts: ["127.0.0.1"], port: 0, edge: edge, material: nil))
            var fleetEdge = edge
            fleetEdge.tls = bench.tls
            let fleetPort = try server.listenForGateways(
                host: "127.0.0.1", port: 0, EdgePart(fleetEdge, material: try TLSMaterial(bench.tls)),
                access: GatewayAccess(peerName: FleetBench.role), maximum: 1_000)
            bench.ports.withLock { $0[id] = fleetPort }
            bench.directory.set(.init(id: id, address: "localhost:\(fleetPort)", silence: 0))
        }

        /// Returns when no client's upgrade or messages are passed on any more; the time limit of the suite ends the
        /// wait.
        func passesNothingOn() async throws {
            while fleetRelay.current > 0 {
                try Task.checkCancellation()
                await Task.yield()
            }
        }

        func attempt(_ handshake: Handshake) async throws -> TestWebSocket.Outcome {
            try await TestWebSocket.attempt(handshake, on: RawConnection.open(port: port))
        }

        func open(_ handshake: Handshake) async throws -> TestWebSocket {
            guard case .open(let socket) = try await attempt(handshake) else { throw EdgeTestError("refused") }
            return socket
        }
    }

    static let role = "gateway.fleet"
    static let gmcp = "gmcp.mudstandards.org"

    let directory = MemorySessionDirectory()
    let target: TargetServer
    let folder: String
    let tls: TLSSettings
    private let limits: RelayLimits
    private let methods: [any AdmissionMethod]?
    private let ports = Mutex<[String: UInt16]>([:])
    private let gone = Mutex(SilentGateways())

    /// - Parameter methods: nil: anybody is admitted.
    init(_ limits: RelayLimits = RelayLimits(), methods: [any AdmissionMethod]? = nil) async throws {
        self.limits = limits
        self.methods = methods
        target = try await TargetServer.start(.scripted)
        folder = NSTemporaryDirectory() + "fleet-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let authority = try TestAuthority(name: "Fleet CA", now: .now)
        let gateway = try authority.issue("gateway", now: .now, hosts: ["localhost", Self.role])
        for (name, text) in [("ca", authority.certificate), ("cert", gateway.certificate), ("key", gateway.key)] {
            try text.write(toFile: folder + "/\(name).pem", atomically: true, encoding: .utf8)
        }
        tls = TLSSettings(
            certificatePath: folder + "/cert.pem", privateKeyPath: folder + "/key.pem", clientCAPath: folder + "/ca.pem"
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Whether a session's token is a credential by itself.
    enum Tokens {
        /// There is no such method.
        case off
        /// No session of this fleet began with a ticket.
        case forNoSession
        case forEverySession
    }

    /// - Parameter blocked: an address that this gateway alone refuses.
    func gateway(_ id: String, blocking blocked: String? = nil, tokens: Tokens = .off) async throws -> Gateway {
        try await Gateway(id, self, blocked: blocked, tokens)
    }

    fileprivate func dialling() throws -> TargetTLS {
        var settings = TargetTLSSettings(mode: .required, caPath: folder + "/ca.pem")
        settings.mutual = MutualTLS(
            certificatePath: tls.certificatePath, privateKeyPath: tls.privateKeyPath, peerName: Self.role)
        return try TargetTLS(settings)
    }

    /// Of the listener for other gateways.
    func port(of gateway: String) throws -> UInt16 {
        guard let port = ports.withLock({ $0[gateway] }) else { throw EdgeTestError(gateway) }
        return port
    }

    // MARK: Heartbeats

    var silent: SilentGateways { gone.withLock { $0 } }

    func hurry() {}

    /// Its heartbeats have stopped.
    ///
    /// - Parameter isGone: nothing listens there any more.
    func silence(_ gateway: String, isGone: Bool) throws {
        let address = "localhost:\(try port(of: gateway))"
        directory.set(.init(id: gateway, address: address, silence: GatewayMembers.deadAfter + 1))
        let member = GatewayMember(
            id: gateway, name: gateway, version: "0", schema: 7, started: 0, heartbeat: 0,
            report: .init(address: address))
        let view = GatewayMembers([member], readAt: GatewayMembers.deadAfter + 1, began: 0)
        gone.withLock { gone in
            _ = gone.note(view, own: "")
            if isGone { for _ in 0..<SilentGateways.failuresUntilGone { _ = gone.nobodyAnswered(at: gateway) } }
        }
    }
}

/// The lines that a gateway has logged.
struct LineLog: LogHandler {
    private final class Lines: Sendable {
        let all = Mutex<[(message: String, metadata: Logger.Metadata)]>([])
    }

    private let lines = Lines()
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.all.withLock { $0.append(("\(event.message)", event.metadata ?? [:])) }
    }

    func values(of key: String, in message: String) -> [String] {
        lines.all.withLock { lines in
            lines.filter { $0.message == message }.compactMap { $0.metadata[key].map { "\($0)" } }
        }
    }
}

/// A session as its client knows it.
struct GMCPSession {
    let id: String
    let token: String

    init(_ message: String) throws {
        let name = "Portcullis.Session "
        guard message.hasPrefix(name),
            let fields = try JSONSerialization.jsonObject(with: Data(message.dropFirst(name.count).utf8))
                as? [String: Any],
            let id = fields["id"] as? String, let token = fields["token"] as? String
        else { throw EdgeTestError("no session: \(message)") }
        (self.id, self.token) = (id, token)
    }

    func handshake(after seq: Int, token: String? = nil) -> Handshake {
        Handshake().path("/?session=\(id)&token=\(token ?? self.token)&lastSeq=\(seq)").offering(FleetBench.gmcp)
    }
}

extension TestWebSocket {
    /// The next message, whose fragments are joined; pings are answered.
    func message() async throws -> String {
        var bytes: [UInt8] = []
        while true {
            let frame = try await nextFrame()
            switch frame.opcode {
            case WebSocketFrame.Opcode.ping: try await send(WebSocketFrame(WebSocketFrame.Opcode.pong, frame.payload))
            case WebSocketFrame.Opcode.pong: continue
            case WebSocketFrame.Opcode.close: throw EdgeTestError("instead of a message: \(frame)")
            default:
                bytes += frame.payload
                if frame.isFinal { return String(decoding: bytes, as: UTF8.self) }
            }
        }
    }
}
