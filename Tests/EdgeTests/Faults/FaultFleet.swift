import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit
import Synchronization

/// A fleet whose parts a test breaks: real gateways, each with its own link to a real PostgreSQL.
final class FaultFleet: Sendable {
    /// One process, or the process that an upgrade has put in its place.
    struct Gateway: Sendable {
        let process: GatewayProcess
        /// Its link to the database.
        let link: TCPRelay
        /// A process that was started anew has lost its sessions, and another number.
        let life: Int
        var successor: Successor?
    }

    let bench: FleetBench
    private let files: FleetCertificates
    private let state: Mutex<State>

    private struct State {
        var server: PostgresServer
        /// Of the gateways that are started next; nil: the one that was built.
        var program: String?
        var gateways: [Gateway] = []
        var lives = 0
        /// When the last fault had ended.
        var healed = ContinuousClock.now
    }

    /// - Parameter program: of all of them; nil: the one that was built.
    init(gateways count: Int, of program: String? = nil) async throws {
        let server = try await Self.launch()
        state = Mutex(State(server: server, program: program))
        bench = try await FleetBench(on: server, through: [server.port], migrates: false)
        try await bench.migrate(by: program)
        files = try FleetCertificates()
        for _ in 0..<count {
            let gateway = try await start()
            state.withLock { $0.gateways.append(gateway) }
        }
        try await bench.eventuallyBeat(Int64(count))
    }

    private static func launch(following primary: PostgresServer? = nil) async throws -> PostgresServer {
        var options = PostgresServer.Options()
        options.listens = true
        options.primary = primary
        return try await PostgresServer.launch(options)
    }

    /// The one that the gateways use.
    private var server: PostgresServer { state.withLock { $0.server } }

    private func start() async throws -> Gateway {
        let link = try TCPRelay(to: server.port)
        let (life, program) = state.withLock { state in
            state.lives += 1
            return (state.lives, state.program)
        }
        let url = "postgresql://portcullis@127.0.0.1:\(link.port)/\(bench.database)?sslmode=disable"
        var settings = try files.listening(bench.settings, as: "gateway\(life)").setting("STORE_URL", url)
            .setting("STORE_TIMEOUT_MS", "1000")
        if let program, try await Self.isBefore2(program) {
            settings = settings.setting("FLEET_BIND", "127.0.0.1").setting("FLEET_PORT", 0)
                .setting("FLEET_ADVERTISE", "localhost")
        }
        let process = try await GatewayProcess.start(settings, program: program)
        return Gateway(process: process, link: link, life: life)
    }

    /// Version 0.1 has a setting for each part of `FLEET_BIND`.
    private static func isBefore2(_ program: String) async throws -> Bool {
        try await GatewayProcess.run(["--version"], program: program).outputText.hasPrefix("0.1.")
    }

    /// Upgrades the tables, and from then on each gateway that is started or upgraded has the program that was built.
    func goOn() async throws {
        try await bench.migrate()
        state.withLock { $0.program = nil }
    }

    var gateways: [Gateway] { state.withLock { $0.gateways } }

    func gateway(_ index: Int) -> Gateway { state.withLock { $0.gateways[index] } }

    /// Whether sessions of this life still exist.
    func isAlive(_ life: Int) -> Bool { state.withLock { $0.gateways.contains { $0.life == life } } }

    var healed: ContinuousClock.Instant { state.withLock { $0.healed } }

    // MARK: Faults

    /// - Returns: when the fault is over.
    func suffer(_ fault: FleetFault) async throws {
        switch fault {
        case .killedBackend:
            // The server ends all others, and recovers by itself.
            try await server.killBackend()
        case .crash:
            try await server.crash()
            try await server.start()
        case .failover: try await failOver()
        case .frozen(let seconds):
            server.signal(SIGSTOP)
            try? await Task.sleep(for: .seconds(seconds))
            server.signal(SIGCONT)
        case .cutLink(let index, let seconds):
            let link = gateway(index).link
            link.silence(true)
            try? await Task.sleep(for: .seconds(seconds))
            link.cut()
            link.silence(false)
        case .slowLink(let index, let seconds):
            let link = gateway(index).link
            link.delay(milliseconds: 150)
            try? await Task.sleep(for: .seconds(seconds))
            link.delay(milliseconds: 0)
        case .lostAnswers(let index): try await loseAnswers(of: gateway(index).link)
        case .killedGateway(let index): try await replace(index)
        case .upgrade(let index): try await upgrade(index)
        }
        state.withLock { $0.healed = .now }
    }

    /// A standby takes over, without what the old server hadn't sent to it yet.
    private func failOver() async throws {
        let old = server
        let standby = try await Self.launch(following: old)
        try await old.crash()
        _ = try standby.session().run("SELECT pg_promote()", [])
        let links = state.withLock { state in
            state.server = standby
            return state.gateways.map(\.link)
        }
        for link in links {
            link.lead(to: standby.port)
            link.cut()
        }
    }

    /// What the database has committed isn't heard of.
    private func loseAnswers(of link: TCPRelay) async throws {
        link.delay(milliseconds: 300)
        try? await Task.sleep(for: .milliseconds(400))
        link.cut()
        link.delay(milliseconds: 0)
    }

    private func replace(_ index: Int) async throws {
        let old = gateway(index)
        let new = try await start()
        state.withLock { $0.gateways[index] = new }
        if let successor = old.successor { kill(successor.processID, SIGKILL) }
        try await old.process.killNow()
    }

    private func upgrade(_ index: Int) async throws {
        let successor = try await Successor.start(replacing: gateway(index).process)
        print(successor.report)
        state.withLock { $0.gateways[index].successor = successor }
    }
}

enum FleetFault: Sendable, CustomStringConvertible {
    case killedBackend
    case crash
    /// To a standby with streaming replication.
    case failover
    case frozen(seconds: Int)
    case cutLink(Int, seconds: Int)
    case slowLink(Int, seconds: Int)
    case lostAnswers(Int)
    /// With kill -9; another one takes its place.
    case killedGateway(Int)
    case upgrade(Int)

    static func random(gateways: Int, using generator: inout some RandomNumberGenerator) -> FleetFault {
        let index = Int.random(in: 0..<gateways, using: &generator)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: return .killedBackend
        case 9: return .failover
        case 1: return .crash
        case 2: return .frozen(seconds: 3)
        case 3: return .frozen(seconds: 10)
        case 4: return .cutLink(index, seconds: Int.random(in: 2...12, using: &generator))
        case 5: return .slowLink(index, seconds: 4)
        case 6: return .lostAnswers(index)
        case 7: return .killedGateway(index)
        default: return .upgrade(index)
        }
    }

    var description: String {
        switch self {
        case .killedBackend: "killed backend"
        case .crash: "crash of the database"
        case .failover: "failover to a standby"
        case .frozen(let seconds): "database frozen for \(seconds) s"
        case .cutLink(let index, let seconds): "link \(index) cut for \(seconds) s"
        case .slowLink(let index, let seconds): "link \(index) slow for \(seconds) s"
        case .lostAnswers(let index): "answers to gateway \(index) lost"
        case .killedGateway(let index): "gateway \(index) killed"
        case .upgrade(let index): "gateway \(index) upgraded"
        }
    }
}
