import AppAttest
import EdgeTestKit
import Foundation
import Logging
import Observability
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer

/// A gateway in use feeds every metric that is defined, and `/metrics` shows it. A new metric needs an event here.
@Suite(.timeLimit(.minutes(5)), .enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
struct MetricsFeedTests {
    private static let connections = 20
    private static let token = String(repeating: "t", count: 32)
    /// Of gateways in a fleet: EdgeTests/FleetResumeTests.
    private static let fleet: Set<MetricName> = [.relays, .gatewayConnectionsRefused]
    /// What is 0 in a gateway that is well.
    private static let idle: Set<MetricName> = [
        .handshakesWaiting, .storeQueue, .registrationsPending, .draining, .seriesDropped, .ready, .passkeyCounters,
    ]

    private let apple: SimulatedApple
    private let target: TargetServer
    private let bench: ConfigurationBench
    private let gateway: Gateway
    private let port: Int
    private let internalPort: Int

    init() async throws {
        (apple, bench) = (try SimulatedApple(), try ConfigurationBench())
        target = try await TargetServer.start(.echo)
        let settings = try bench.secured([
            "WS_PORT": "0", "REACTOR_THREADS": "1", "TN_HOST": "127.0.0.1", "TN_PORT": "\(target.port)",
            "APPATTEST_TEAM_ID": apple.app.teamID, "APPATTEST_BUNDLE_ID": apple.app.bundleID,
            "APPATTEST_ROOT_CA_PATH": apple.rootPath, "APPATTEST_ALLOW_CUSTOM_ROOT": "true",
            "MAX_CONNECTIONS_PER_ADDRESS": "\(Self.connections)", "OUTPUT_BUFFER_BYTES": "1024",
            // The test may wait for a processor much longer than a client would.
            "REQUEST_TIMEOUT_MS": "120000", "CHALLENGE_TTL_SECONDS": "600",
            "PUBLIC_ORIGIN": "https://localhost", "PASSKEY_RP_ID": "localhost", "MESSAGES_PER_SECOND": "20",
            "ADMIN_BIND": "127.0.0.1:0",
            "ADMIN_TLS_CERT_PATH": bench.folder + "/server.pem", "ADMIN_TLS_KEY_PATH": bench.folder + "/server.key",
            "ADMIN_TOKEN_PATH": bench.file("admin.token", Self.token),
            // Every line is lost, and clients are admitted none the less.
            "AUDIT_LOG_PATH": "/dev/full", "AUDIT_FULL": "continue",
        ])
        let source = ConfigurationSource(environment: settings, environmentFile: nil)
        gateway = try Gateway(
            source.load(now: bench.now), from: source,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        port = try #require(gateway.address.split(separator: ":").last.flatMap { Int($0) })
        internalPort = try #require(gateway.internalAddress?.split(separator: ":").last.flatMap { Int($0) })
    }

    @Test func `a gateway in use feeds every metric`() async throws {
        let device = try apple.device()
        #expect(try await post("/attest/register", device.registration(nonce: challenge())).status == 200)
        #expect(try await post("/attest/register", "{}").status == 400)
        #expect(try await get("/nowhere").status == 404)
        #expect(try await post("/token", "{}").status == 400)
        #expect(try await post("/api/auth/passkey/authenticate", "{}").status == 400)
        #expect(try await post("/api/auth/token/validate", "{}").status == 400)
        let original = "X-Original-Method: GET\r\nX-Original-URL: https://localhost/\r\n"
        #expect(try await ask("/authz", original).status == 401)
        #expect(try await ask("/metrics", token: nil).status == 401)
        let plain = try await RawConnection.open(port: internalPort)
        try await plain.send("GET /metrics HTTP/1.1\r\n\r\n")
        _ = try await plain.receiveToEnd()
        guard case .refused(let answer, _) = try await TestWebSocket.attempt(Handshake(), on: connect()) else {
            throw EdgeTestError("a client without credentials is admitted")
        }
        #expect(answer.status == 401)
        try await play(device)
        try await comeBack(device)
        try await hurry(device)
        try await refuseByStore(device)
        try await fillConnections()
        gateway.inspector.pulse.beat()
        await gateway.inspector.storeProbe?.tryOut()
        _ = await gateway.reload()
        // So that a connection is open.
        let open = try await RawConnection.open(port: port)
        try await waitUntilFed()
        await open.close()
    }

    /// A session from its upgrade to its end.
    private func play(_ device: TestDevice) async throws {
        let socket = try await open(Handshake().adding(device.assertionHeaders(nonce: challenge())))
        try await socket.send(text: "look")
        #expect(try await socket.receiveText(4) == "look")
        try await socket.close()
    }

    /// A session that is resumed after messages were lost.
    private func comeBack(_ device: TestDevice) async throws {
        let json = Handshake().offering("json.mudstandards.org")
        let socket = try await open(json.adding(device.assertionHeaders(nonce: challenge())))
        let session = try #require(try Self.session(await socket.nextFrame().payload))
        let text = String(repeating: "x", count: 4_000)
        try await socket.send(binary: Array(text.utf8))
        #expect(try await socket.receiveText(text.count) == text)
        await socket.connection.reset()
        let back = try await open(
            json.path("/?session=\(session.id)&token=\(session.token)&lastSeq=0")
                .adding(device.assertionHeaders(nonce: challenge())))
        _ = try await back.nextFrame()
        await back.connection.reset()
    }

    /// The session message of the dialect json.
    private static func session(_ payload: [UInt8]) throws -> (id: String, token: String)? {
        let envelope = try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        let data = (envelope?["data"] as? String).map { Data($0.utf8) } ?? Data()
        let fields = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        guard let id = fields?["id"] as? String, let token = fields?["token"] as? String else { return nil }
        return (id, token)
    }

    /// A client that sends faster than it may.
    private func hurry(_ device: TestDevice) async throws {
        let socket = try await open(Handshake().adding(device.assertionHeaders(nonce: challenge())))
        for _ in 0..<200 { socket.connection.post(WebSocketFrame.binary([1]).encoded()) }
        let name = MetricName.throttled.rawValue
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        while try await samples()["\(name){side=\"client\"}"] == 0, ContinuousClock.now < deadline {}
        await socket.connection.reset()
    }

    /// Another process holds the store's lock.
    private func refuseByStore(_ device: TestDevice) async throws {
        let path = bench.folder + "/keys.sqlite"
        let lock = try await StoreLock.take(path)
        let handshake = try await Handshake().adding(device.assertionHeaders(nonce: challenge()))
        guard case .refused(let answer, _) = try await TestWebSocket.attempt(handshake, on: connect()) else {
            throw EdgeTestError("a device is admitted without its counter")
        }
        #expect(answer.status == 503)
        try await lock.release()
    }

    /// One connection more than the address may have is closed unanswered.
    private func fillConnections() async throws {
        var held: [RawConnection] = []
        for _ in 0...Self.connections { held.append(try await RawConnection.open(port: port)) }
        _ = try await held.last?.receiveToEnd()
        for connection in held { await connection.close() }
    }

    // MARK: What is shown

    /// The gateway notices the end of a session asynchronously: scrapes until it has.
    private func waitUntilFed() async throws {
        let deadline = ContinuousClock.now.advanced(by: .seconds(20))
        var missing = try await missing()
        while !missing.isEmpty, ContinuousClock.now < deadline { missing = try await self.missing() }
        #expect(missing == [])
        let samples = try await samples()
        let documented = try Self.documentedLabels()
        for series in samples.keys {
            let name = Self.family(of: series)
            #expect(Self.labels(of: series) == documented[name], "docs/METRICS.md: \(series)")
        }
        for name in [MetricName.bytes, .frameBytes] {
            for direction in ByteDirection.allCases {
                let value = samples["\(name.rawValue){direction=\"\(direction.rawValue)\"}"]
                #expect(try #require(value) > 0, "\(name) \(direction)")
            }
        }
    }

    private func missing() async throws -> [MetricName] {
        let samples = try await samples()
        return MetricName.allCases.filter { name in
            let values = samples.filter { Self.family(of: $0.key) == name.rawValue }.values
            return values.isEmpty
                || !Self.idle.union(Self.fleet).contains(name) && !values.contains { $0 > 0 }
        }
    }

    private func samples() async throws -> [String: Double] {
        let answer = try await ask("/metrics")
        #expect(answer.status == 200)
        let lines = answer.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        return Dictionary(
            lines.compactMap { line in
                line.lastIndex(of: " ").map { space in
                    (String(line[..<space]), Double(line[line.index(after: space)...]) ?? 0)
                }
            }
        ) { first, _ in first }
    }

    private static func family(of series: String) -> String {
        let name = String(series.prefix { $0 != "{" })
        for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix("_seconds" + suffix) {
            return String(name.dropLast(suffix.count))
        }
        return name
    }

    /// Without a histogram's bounds.
    private static func labels(of series: String) -> Set<String> {
        Set(series.matches(of: /([a-z_]+)="/).map { String($0.1) }).subtracting(["le"])
    }

    private static func documentedLabels() throws -> [String: Set<String>] {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/METRICS.md"), encoding: .utf8)
        let rows = text.matches(of: /(?m)^\| `([a-z_]+)` \| [a-z]+ \| ([^|]*) \|/)
        return Dictionary(
            rows.map { row in (String(row.1), Set(row.2.matches(of: /`([a-z_]+)`/).map { String($0.1) })) }
        ) { first, _ in first }
    }

    // MARK: Requests

    private func ask(_ path: String, _ fields: String = "", token: String? = token) async throws -> ReceivedAnswer {
        let connection = try await RawConnection.open(port: internalPort, tls: TLSChoice())
        let shown = token.map { "X-Portcullis-Internal-Token: \($0)\r\n" } ?? ""
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(shown)\(fields)\r\n")
        return try await connection.answer()
    }

    private func open(_ handshake: Handshake) async throws -> TestWebSocket {
        switch try await TestWebSocket.attempt(handshake, on: connect()) {
        case .open(let socket): return socket
        case .refused(let answer, _): throw EdgeTestError("\(handshake.path): \(answer)")
        }
    }

    private func connect() async throws -> RawConnection { try await RawConnection.open(port: port, tls: TLSChoice()) }

    private func request(_ text: String) async throws -> ReceivedAnswer {
        let connection = try await connect()
        try await connection.send(text)
        let answer = try await connection.answer()
        // A close over TLS would wait for the gateway's.
        await connection.reset()
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
