import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `/metrics` as Prometheus reads it, and the alerts of `config/prometheus-alerts.yml`, each with the fault that it
    /// is about.
    ///
    /// The alerts about reactor lag, an answer that is too long and failures of a share of the store's calls have unit
    /// tests alone (`Tests/Prometheus/alerts.yml`).
    @Suite struct PrometheusTests {
        private static let token = "token-of-thirty-two-letters-or-more"
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(
            _ manner: TargetServer.Manner = .echo, maximumFiles: Int? = nil,
            _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> (edge: Edge, prometheus: PrometheusProcess) {
            let path = try directory.write(Self.token, to: "admin.token")
            let target = try await TargetServer.start(manner)
            let settings = change(
                GatewaySettings(targetPort: target.port).setting("ADMIN_BIND", "127.0.0.1:0")
                    .setting("ADMIN_TOKEN_PATH", path))
            let gateway = try await GatewayProcess.start(settings, maximumFiles: maximumFiles)
            let prometheus = try await PrometheusProcess.start(scraping: gateway.internalPort(), token: Self.token)
            return (Edge(target: target, gateway: gateway), prometheus)
        }

        /// Prometheus has seen some load, and no alert fires.
        private func expectQuiet(_ prometheus: PrometheusProcess, _ gateway: GatewayProcess) async throws {
            let deadline = ContinuousClock.now.advanced(by: .seconds(60))
            while try await (prometheus.value(of: "increase(portcullis_sessions_opened_total[10s])") ?? 0) < 1 {
                try await Edge.expectEcho(gateway.open())
                try #require(ContinuousClock.now < deadline, "Prometheus sees no session")
            }
            #expect(try await prometheus.firing() == [])
        }

        @Test func `promtool accepts the answer and the alerts and their tests`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0") }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            let answer = try await edge.gateway.ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            let promtool = try ServerProgram.path("promtool")
            let checked = try await ChildProcess.check(promtool, ["check", "metrics"], input: answer.text)
            #expect(checked.outputText + checked.errorText == "")
            try await ChildProcess.check(promtool, ["check", "rules", "--lint-fatal", PrometheusProcess.alertsPath])
            try await ChildProcess.check(
                promtool, ["test", "rules", ServerProgram.repository + "/Tests/Prometheus/alerts.yml"])
        }

        @Test func `Prometheus scrapes over TLS with a client certificate`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("ADMIN_BIND", "0.0.0.0:0")
                    .setting("ADMIN_CLIENT_CA_PATH", certificates.clientCA)
            }
            let tls = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.client)
            let prometheus = try await PrometheusProcess.start(
                scraping: edge.gateway.internalPort(), token: nil, tls: tls)
            try await expectQuiet(prometheus, edge.gateway)
            let other = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.foreignClient)
            let stranger = try await PrometheusProcess.start(
                scraping: edge.gateway.internalPort(), token: nil, tls: other)
            try await stranger.wait(until: "PortcullisDown")
        }

        @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
        func `refusals and a locked store and a lost target and a crash raise alerts`() async throws {
            let apple = try SimulatedApple()
            let (edge, prometheus) = try await start { $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false") }
            try await expectQuiet(prometheus, edge.gateway)

            try await prometheus.wait(until: "PortcullisManyRefusals") {
                for _ in 0..<5 { _ = try await edge.gateway.refusal(Handshake().offering("nonsense")) }
            }
            let lock = try await StoreLock.take(edge.gateway.storePath)
            try await prometheus.wait(until: "PortcullisStoreNotWritable")
            try await prometheus.wait(until: "PortcullisNotReady")
            try await lock.release()
            try await prometheus.wait(until: "PortcullisStoreNotWritable", isFiring: false)

            await edge.target.stopListening()
            try await prometheus.wait(until: "PortcullisTargetDown") {
                _ = try await edge.gateway.open().closedByServer()
            }
            #expect(try await !prometheus.firing().contains("PortcullisDown"))
            try await edge.gateway.killNow()
            try await prometheus.wait(until: "PortcullisDown")
        }

        @Test func `certificates and refused reloads and a shutdown raise alerts`() async throws {
            let certificates = try await DevCertificates.shared()
            let day = 86_400
            let identity = try certificates.server(from: -day, to: 90 * day, in: directory)
            let (edge, prometheus) = try await start {
                $0.tls(certificates).setting("TLS_CERT_PATH", identity.certificate)
                    .setting("TLS_KEY_PATH", identity.key).setting("SHUTDOWN_GRACE_MS", 60_000)
                    .setting("SHUTDOWN_DEADLINE_MS", 90_000)
            }
            try await expectQuiet(prometheus, edge.gateway)

            func replace(to end: Int) throws {
                let next = try certificates.server(from: -day, to: end, in: directory)
                for (new, old) in [(next.certificate, identity.certificate), (next.key, identity.key)] {
                    try Data(contentsOf: URL(fileURLWithPath: new)).write(to: URL(fileURLWithPath: old))
                }
                edge.gateway.child.signal(SIGHUP)
            }
            try replace(to: 5 * day)
            try await prometheus.wait(until: "PortcullisCertificateExpiring")
            try replace(to: -1)
            try await prometheus.wait(until: "PortcullisCertificateExpired")
            try await prometheus.wait(until: "PortcullisNotReady")
            try replace(to: 91 * day)
            try await prometheus.wait(until: "PortcullisCertificateExpired", isFiring: false)
            try await prometheus.wait(until: "PortcullisNotReady", isFiring: false)

            let settings = try String(contentsOfFile: edge.gateway.directory.file("portcullis.env"), encoding: .utf8)
            try edge.gateway.directory.write(settings + "LOG_LEVEL=nonsense\n", to: "portcullis.env")
            try await prometheus.wait(until: "PortcullisReloadRefused") { edge.gateway.child.signal(SIGHUP) }

            let socket = try await edge.gateway.open()
            try await Edge.expectEcho(socket)
            edge.gateway.terminate()
            try await prometheus.wait(until: "PortcullisDraining")
            #expect(try await !prometheus.firing().contains("PortcullisNotReady"), "a shutdown has an alert of its own")
            try await Edge.expectEcho(socket)
        }

        @Test func `lost lines of the audit log and a limit of connections raise alerts`() async throws {
            let (edge, prometheus) = try await start {
                $0.setting("AUDIT_LOG_PATH", "/dev/full").setting("AUDIT_FULL", "continue")
                    .setting("MAX_CONNECTIONS_PER_ADDRESS", 5)
            }
            #expect(try await prometheus.firing() == [])
            let session = try await edge.gateway.open()
            try await prometheus.wait(until: "PortcullisAuditLinesLost")
            var held: [RawConnection] = []
            for _ in 0..<5 { held.append(try await RawConnection.open(port: edge.gateway.port)) }
            try await prometheus.wait(until: "PortcullisConnectionsRefused") {
                for _ in 0..<5 { await (try RawConnection.open(port: edge.gateway.port)).close() }
            }
            try await Edge.expectEcho(session)
            #expect(held.count == 5)
        }

        @Test func `open files near their limit raise an alert`() async throws {
            let files = 100
            let (edge, prometheus) = try await start(maximumFiles: files) {
                $0.setting("REACTOR_THREADS", 1).setting("MAX_CONNECTIONS", 1_000)
                    .setting("MAX_CONNECTIONS_PER_ADDRESS", 1_000)
            }
            try await expectQuiet(prometheus, edge.gateway)
            let reader = try await RawConnection.open(port: edge.gateway.internalPort())
            /// Exactly, and without a new connection.
            func openFiles() async throws -> Int {
                try await reader.send("GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(Self.token)\r\n\r\n")
                let text = try await reader.answer().text
                return try #require(text.firstMatch(of: /\nprocess_open_fds (\d+)\n/).flatMap { Int($0.1) }, "\(text)")
            }
            // Each has a connection to its target.
            var sessions: [TestWebSocket] = []
            while try await openFiles() < files * 83 / 100 {
                let session = try await edge.gateway.open()
                try await Edge.expectEcho(session)
                sessions.append(session)
            }
            try await prometheus.wait(until: "PortcullisOpenFilesNearLimit")
            // Without any left, the figure is the limit.
            let rest = try await inParallel(files) { _ in try await edge.gateway.connect() }
            try await edge.gateway.errorLine("new connections wait")
            #expect(try await openFiles() == files)
            for connection in rest { await connection.close() }
            for session in sessions { await session.connection.reset() }
            try await prometheus.wait(until: "PortcullisOpenFilesNearLimit", isFiring: false)
        }
    }
}
