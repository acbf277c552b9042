import AppAttest
import EdgeTestKit
import Foundation
import PortcullisClientNIO

@testable import PortcullisClient

/// A client with everything that a test wants to look at.
struct Bench: Sendable {
    /// A PIN's real number takes seconds in a debug build.
    static let pinRounds = 1_000

    let client: GateClient
    let attest: SimulatedAppAttest
    let passkeys: SimulatedPasskeys
    let secrets: MemorySecretStore
    let lines = Awaited<[String]>([])

    /// - Parameters:
    ///   - secrets: of an earlier start of the app.
    ///   - clock: nil: the system's.
    ///   - store: has the secrets, if they are to be written in another way.
    ///   - losing: answers of the gate.
    ///   - holdings: counts what is held for connections, by the system's clock.
    init(
        _ url: String, apple: SimulatedApple? = nil, attest: SimulatedAppAttest? = nil,
        passkeys: SimulatedPasskeys = SimulatedPasskeys(), secrets: MemorySecretStore = MemorySecretStore(),
        clock: ManualClock? = nil, trust: ServerTrust = ServerTrust(),
        developmentToken: String? = nil, network: any NetworkPath = UnobservedNetworkPath(),
        unlock: any LocalUnlock = NoLocalUnlock(), store: (any SecretStore)? = nil,
        losing: LostAnswers? = nil, holdings: Holdings? = nil,
        _ change: (inout GateConfiguration) -> Void = { _ in }
    ) throws {
        let apple = try apple ?? SimulatedApple()
        let attest = attest ?? SimulatedAppAttest(apple)
        var configuration = try GateConfiguration(
            baseURLString: url, teamIdentifier: apple.app.teamID, bundleIdentifier: apple.app.bundleID,
            developmentToken: developmentToken, logLevel: .debug)
        // Tests cut connections as fast as they can.
        (configuration.reconnection.burst, configuration.reconnection.perSecond) = (1_000, 1_000)
        change(&configuration)
        let lines = lines
        var transport: any Transport = try NIOTransport(trust: trust)
        transport = losing?.behind(transport) ?? transport
        transport = holdings?.counting(transport) ?? transport
        var platform = ClientPlatform(
            transport: transport, appAttest: attest, passkeys: passkeys, secrets: store ?? secrets,
            clock: clock ?? holdings?.clock ?? SystemClock(), network: network, random: { 0.5 }
        ) { level, text in
            lines.update { $0.append("\(level) \(text)") }
        }
        platform.unlock = unlock
        platform.pinRounds = Self.pinRounds
        client = GateClient(configuration: configuration, platform: platform)
        (self.attest, self.passkeys, self.secrets) = (attest, passkeys, secrets)
    }
}

/// Collects the events of a connection.
final class Player: Sendable {
    struct Seen: Sendable {
        var events: [ConnectionEvent] = []
        var output: [UInt8] = []
        var isOver = false

        var text: String { String(decoding: output, as: UTF8.self) }
        var states: [ConnectionState] {
            events.compactMap { if case .state(let state) = $0 { state } else { nil } }
        }
        var end: ConnectionEnd? {
            states.lazy.compactMap { if case .ended(let end) = $0 { end } else { nil } }.first
        }
        var outcomes: [InputOutcome] {
            events.compactMap { if case .input(let outcome) = $0 { outcome } else { nil } }
        }
        var connections: Int { states.count { if case .connected = $0 { true } else { false } } }
        var gaps: Int { events.count { if case .gap = $0 { true } else { false } } }
    }

    let connection: GatedConnection
    let seen = Awaited(Seen())
    private let reading: Task<Void, Never>
    /// Lives as long as the player.
    private let server: StandIn?

    init(_ connection: GatedConnection, at server: StandIn? = nil) {
        self.connection = connection
        self.server = server
        let seen = seen
        reading = Task {
            for await event in connection {
                seen.update { seen in
                    if case .output(let output) = event {
                        seen.output += output.bytes
                    } else {
                        seen.events.append(event)
                    }
                }
            }
            seen.update { $0.isOver = true }
        }
    }

    deinit { reading.cancel() }

    func wait(
        for what: String, within limit: Duration = .seconds(30), _ isThere: @escaping @Sendable (Seen) -> Bool
    ) async throws {
        try await seen.wait(for: what, within: limit) { isThere($0) ? () : nil }
    }

    func connected(times: Int = 1) async throws {
        try await wait(for: "connection \(times)") { $0.connections >= times }
    }

    func text(_ text: String, within limit: Duration = .seconds(30)) async throws {
        try await wait(for: text, within: limit) { $0.text.contains(text) }
    }

    func end(within limit: Duration = .seconds(30)) async throws -> ConnectionEnd {
        try await seen.wait(for: "the end", within: limit) { $0.end }
    }
}
