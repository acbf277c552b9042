import AppAttest
import EdgeTestKit
import Logging
import MetricsTestKit
import Observability
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer

/// A gateway in use feeds every metric that is defined. A new metric needs an event here.
@Suite(.timeLimit(.minutes(5)))
struct MetricsFeedTests {
    private static let connections = 20

    private let backend = TestMetrics()
    private let apple: SimulatedApple
    private let target: TargetServer
    private let bench: ConfigurationBench
    private let gateway: Gateway
    private let port: Int
    private let folder: TemporaryDirectory

    init() async throws {
        (apple, bench) = (try SimulatedApple(), try ConfigurationBench())
        folder = try TemporaryDirectory()
        target = try await TargetServer.start(.echo)
        let settings = bench.least([
            "WS_PORT": "0", "REACTOR_THREADS": "1", "TN_HOST": "127.0.0.1", "TN_PORT": "\(target.port)",
            "APPATTEST_TEAM_ID": apple.app.teamID, "APPATTEST_BUNDLE_ID": apple.app.bundleID,
            "APPATTEST_ROOT_CA_PATH": apple.rootPath, "APPATTEST_ALLOW_CUSTOM_ROOT": "true",
            "MAX_CONNECTIONS_PER_ADDRESS": "\(Self.connections)",
            // The test may wait for a processor much longer than a client would.
            "TLS_HANDSHAKE_TIMEOUT_MS": "120000", "HTTP_HEADER_TIMEOUT_MS": "120000", "HTTP_BODY_TIMEOUT_MS": "120000",
            "UPGRADE_TIMEOUT_MS": "120000", "CHALLENGE_TTL_SECONDS": "600",
            "ADMIN_BIND": "unix:" + folder.file("admin.sock"),
            // Every line is lost, and clients are admitted none the less.
            "AUDIT_LOG_PATH": "/dev/full", "AUDIT_FULL": "continue",
        ])
        let source = ConfigurationSource(environment: settings, environmentFile: nil)
        gateway = try Gateway(
            source.load(now: bench.now), from: source, metrics: GatewayMetrics(factory: backend),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        port = try #require(gateway.address.split(separator: ":").last.flatMap { Int($0) })
    }

    @Test func `a gateway in use feeds every metric`() async throws {
        #expect(GatewayMetrics.Name.allCases.filter(isFed) == [])
        let device = try apple.device()
        #expect(try await post("/attest/register", device.registration(nonce: challenge())).status == 200)
        #expect(try await post("/attest/register", "{}").status == 400)
        #expect(try await get("/nowhere").status == 404)
        #expect(try await post("/token", "{}").status == 400)
        #expect(try await authorize() == 401)
        guard case .refused(let answer, _) = try await TestWebSocket.attempt(Handshake(), on: connect()) else {
            throw EdgeTestError("a client without credentials is admitted")
        }
        #expect(answer.status == 401)
        try await play(device)
        try await fillConnections()
        try await waitUntilFed()
        for name in [GatewayMetrics.Name.bytes, .frameBytes] {
            for direction in ByteDirection.allCases {
                let counter = try backend.expectCounter(name.rawValue, [("direction", direction.rawValue)])
                #expect(counter.totalValue > 0, "\(name) \(direction)")
            }
        }
    }

    /// A proxy asks about a request without a token.
    private func authorize() async throws -> Int {
        let connection = try await RawConnection.open(socketPath: folder.file("admin.sock"))
        try await connection.send(
            "GET /authz HTTP/1.1\r\nHost: localhost\r\nX-Original-Method: GET\r\nX-Original-URL: https://localhost/\r\n\r\n"
        )
        return try await connection.answer().status
    }

    /// A session from its upgrade to its end.
    private func play(_ device: TestDevice) async throws {
        let handshake = try await Handshake().adding(device.assertionHeaders(nonce: challenge()))
        guard case .open(let socket) = try await TestWebSocket.attempt(handshake, on: connect()) else {
            throw EdgeTestError("the device is refused")
        }
        try await socket.send(text: "look")
        #expect(try await socket.receiveText(4) == "look")
        try await socket.close()
    }

    /// One connection more than the address may have is closed unanswered.
    private func fillConnections() async throws {
        var held: [RawConnection] = []
        for _ in 0...Self.connections { held.append(try await connect()) }
        _ = try await held.last?.receiveToEnd()
        for connection in held { await connection.close() }
    }

    /// The gateway notices the end of a session asynchronously: requests until it has.
    private func waitUntilFed() async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        while !GatewayMetrics.Name.allCases.allSatisfy(isFed), ContinuousClock.now < deadline {
            _ = try? await get("/health")
        }
        #expect(GatewayMetrics.Name.allCases.filter { !isFed($0) } == [])
    }

    /// Something was counted or measured under this name.
    private func isFed(_ name: GatewayMetrics.Name) -> Bool {
        backend.counters(label: name.rawValue).contains { $0.totalValue > 0 }
            || backend.meters(label: name.rawValue).contains { $0.values.contains { $0 > 0 } }
    }

    private func connect() async throws -> RawConnection { try await RawConnection.open(port: port) }

    private func request(_ text: String) async throws -> ReceivedAnswer {
        let connection = try await connect()
        try await connection.send(text)
        let answer = try await connection.answer()
        await connection.close()
        return answer
    }

    private func get(_ path: String) async throws -> ReceivedAnswer {
        try await request("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    }

    private func post(_ path: String, _ body: String) async throws -> ReceivedAnswer {
        try await request(GatewayProcess.post(path, body))
    }

    private func challenge() async throws -> String {
        let answer = try await get("/attest/challenge")
        return try #require(answer.strings?["nonce"], "\(answer)")
    }
}
