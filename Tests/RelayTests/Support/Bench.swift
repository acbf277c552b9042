import Foundation
import Logging
import Observability
import Reactors
import RelayCore
import Telnet
import WireText

@testable import Admission
@testable import Relay

/// A gateway's sessions without a gateway: two loops, their tables, one directory, and what is written down.
final class Bench {
    let network = TestNetwork()
    let loops: [TestLoop]
    let tables: [SessionTable]
    let settings: SessionSettings
    let drain = DrainSwitch()
    let leases = SessionLeases(maximum: nil)
    let log = LogRecorder()
    private let auditPath = NSTemporaryDirectory() + "relay-tests-\(UUID().uuidString)"
    private var admissions = 0
    private let current: CurrentGate

    private final class CurrentGate {
        var gate: Gate

        init(_ gate: Gate) { self.gate = gate }
    }

    /// As after a reload.
    var gate: Gate {
        get { current.gate }
        set { current.gate = newValue }
    }

    struct Options {
        var session = SessionLimits()
        var dialects = DialectSettings()
        var traffic = TrafficSettings()
        var leases = SessionLeaseLimits(perDevice: 100, perAddress: 100)
        var blockList = BlockList()
        var mode = TargetMode.fixed
        /// Where sessions are that aren't here.
        var elsewhere: Whereabouts?
        var relays = RelayLimits()
    }

    init(_ change: (inout Options) throws -> Void = { _ in }) throws {
        var options = Options()
        options.dialects.telnet.greetsGMCP = false
        options.traffic.messagesPerSecond = 0
        options.traffic.clientBytesPerSecond = 0
        options.traffic.targetBytesPerSecond = 0
        try change(&options)
        let (recorder, leaseLimits, relays) = (log, options.leases, options.relays)
        let logger = Logger(label: "relay-tests") { _ in RecordingLogHandler(recorder) }
        let metrics = GatewayMetrics()
        let audit = try AuditLog(path: auditPath, logger: logger)
        var admission = GateSettings(drain: drain, leases: leases, methods: [AnonymousMethod(isAllowed: true)])
        admission.blockList = options.blockList
        let gate = Gate(admission)
        let target = try TargetEndpoint("mud.example:4000")
        let relay = RelaySettings(
            targets: try TargetPolicy(TargetSettings(mode: options.mode, standard: target)),
            dialer: TargetDialer(
                tlsMode: .plain, preferredTLS: nil, requiredTLS: nil, proxyHeader: .off, timeoutMilliseconds: 10_000),
            dialects: options.dialects, session: options.session, traffic: options.traffic, compression: .off,
            directory: SessionDirectory(leaseLimits), gate: gate, drain: drain, requests: RequestLimits(),
            attestation: nil, tickets: nil, servesWebClient: false, trustedProxies: TrustedProxies(), warnings: [],
            version: "0", audit: audit,
            journal: RefusalJournal(audit: audit, metrics: metrics, logger: logger, linesPerMinute: 1_000),
            whenAuditFails: .continue, metrics: metrics, logger: logger)
        let fleetRelay = try options.elsewhere.map { elsewhere in
            let tls = try TargetTLS(TargetTLSSettings(mode: .required))
            return FleetRelay(FixedWhereabouts(found: elsewhere), tls: tls, limits: relays)
        }
        settings = SessionSettings(relay)
        loops = [network.makeLoop(), network.makeLoop()]
        let current = CurrentGate(gate)
        self.current = current
        tables = loops.map { _ in SessionTable(gate: current.gate, fleetRelay: fleetRelay) }
    }

    deinit { try? FileManager.default.removeItem(atPath: auditPath) }

    private struct FixedWhereabouts: SessionWhereabouts {
        let found: Whereabouts

        func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void) { answer(found) }
    }

    /// - Parameters:
    ///   - dialect: nil: the first message decides.
    ///   - isPassedOn: by another gateway.
    func client(
        _ dialect: DialectKind? = .typed, on loop: Int = 0, resuming request: ResumeRequest? = nil,
        from address: String = "192.0.2.1", isPassedOn: Bool = false
    ) throws -> TestClient {
        guard let globalLease = leases.claim(), let address = IPAddress(text: address) else { throw NoClient() }
        admissions += 1
        let upgrade = upgrade(
            SessionRequest(
                target: .standard, client: ClientDescription { _ in nil }, dialect: dialect, resume: request),
            from: address)
        let admitted = Admitted(
            principal: .anonymous, globalLease: globalLease, permit: isPassedOn ? nil : SessionPermit())
        let client = ClientIdentity(
            session: "c11e\(admissions)", principal: .anonymous, address: address, port: 1, isSecure: true)
        let link = ClientLink(
            client, Arrival(admitted, upgrade, settings, now: network.now), sessions: tables[loop], loop: loops[loop])
        let socket = MemorySocket(link, on: loops[loop])
        network.add(socket)
        network.run(on: loops[loop]) { link.opened(socket) }
        return TestClient(link: link, socket: socket, bench: self)
    }

    private func upgrade(_ session: SessionRequest, from address: IPAddress) -> Upgrade {
        Upgrade(
            context: RequestContext(
                id: "c11e\(admissions)", address: address,
                moment: Moment(monotonic: MonotonicTime(nanoseconds: 0), unixMilliseconds: 0), isForwarded: false),
            handshake: UpgradeHandshake(), session: session, route: settings.targets.decide(session.target), port: 1,
            isTLS: true)
    }

    private struct NoClient: Error {}

    /// A client of the typed dialect whose session is open.
    func player(on loop: Int = 0, from address: String = "192.0.2.1") throws -> TestClient {
        var client = try client(.typed, on: loop, from: address)
        client.say(#"{"type":"connect","host":"mud.example","port":4000}"#)
        client.hear()
        return client
    }

    /// The newest target.
    var target: MemoryTarget { network.targets[network.targets.count - 1] }

    func onEachTable(_ body: (SessionTable) -> Void) {
        for (loop, table) in zip(loops, tables) { network.run(on: loop) { body(table) } }
        network.settle()
    }

    var sessionCount: Int { tables.reduce(0) { $0 + $1.count } }

    /// Nothing is left of any session.
    var isEmpty: Bool {
        sessionCount == 0 && leases.count == 0 && loops.allSatisfy { $0.armedTimerCount == 0 }
    }

    /// The lines about ended sessions.
    var audit: [[String: String]] {
        let text = (try? String(contentsOfFile: auditPath, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap {
            (try? JSONSerialization.jsonObject(with: Data($0.utf8))) as? [String: String]
        }
    }

    /// The reasons for the sessions' ends, in order, as in the log and the audit log.
    var endings: [String] {
        let logged = log.lines(of: "session ended").compactMap { $0["reason"] }
        return logged == audit.compactMap { $0["reason"] } ? logged : ["log and audit log differ"]
    }
}
