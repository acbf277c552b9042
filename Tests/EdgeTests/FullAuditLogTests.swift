import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The disk of the audit log is full. The key store is on another disk, so only the audit log is affected.
    @Suite(.enabled(if: SmallDisk.isAvailable, "this user may not mount a tmpfs in a namespace (unshare)"))
    struct FullAuditLogTests {
        private let apple: SimulatedApple
        private let directory: TemporaryDirectory
        private let disk: SmallDisk
        private static let file = "audit.log"

        init() throws {
            apple = try SimulatedApple()
            directory = try TemporaryDirectory()
            disk = try SmallDisk()
        }

        private func start(_ mode: String?) async throws -> Edge {
            let target = try await TargetServer.start(.echo)
            var settings = GatewaySettings(targetPort: target.port).appAttest(apple)
                .setting("AUDIT_LOG_PATH", disk.file(Self.file))
                .setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite"))
                .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
                .setting("MAX_SESSIONS_PER_DEVICE", 1_000)
            settings["AUDIT_FULL"] = mode
            return Edge(target: target, gateway: try await GatewayProcess.start(settings, disk: disk))
        }

        /// The complete lines, without those torn by the full disk.
        private func lines(of gateway: GatewayProcess) throws -> [[String: String]] {
            try disk.read(Self.file, of: gateway.processID).split(separator: "\n").compactMap {
                try? JSONDecoder().decode([String: String].self, from: Data($0.utf8))
            }
        }

        private func warnings(of gateway: GatewayProcess) async throws -> String {
            let health = try await gateway.get("/health")
            #expect(health.status == 200 && health.field("status") == "healthy")
            return health.text
        }

        private func ticket() async throws -> ChildOutput {
            try await GatewayProcess.run(["ticket", "--socket", directory.file("control.sock")])
        }

        private func ticket(for device: TestDevice, at gateway: GatewayProcess) async throws -> ReceivedAnswer {
            let headers = try device.assertionHeaders(nonce: try await gateway.challenge())
            let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            return try await gateway.request(
                "POST /ticket HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: 0\r\n\r\n")
        }

        /// The file's last page still has room: a few clients are admitted before the first is refused.
        private func admittedUntilRefused(_ device: TestDevice, at gateway: GatewayProcess) async throws -> Int {
            for admitted in 0..<100 {
                switch try await gateway.attempt(device.handshake(at: gateway)) {
                case .open(let socket): await socket.connection.close()
                case .refused(let answer, _):
                    expectRefusal(answer, 503, "audit_unavailable")
                    #expect(answer["retry-after"] == "5")
                    return admitted
                }
            }
            throw EdgeTestError("nobody was refused")
        }

        @Test(arguments: [nil, "refuse"])
        func `no client is admitted without an audit line until the disk has room again`(mode: String?) async throws {
            let edge = try await start(mode)
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            let late = try apple.device()
            let live = try await gateway.open(device.handshake(at: gateway))

            try disk.fill(of: gateway.processID)
            let admitted = 1 + (try await admittedUntilRefused(device, at: gateway))
            let registration = try await late.register(at: gateway)
            expectRefusal(registration, 503, "audit_unavailable")
            #expect(registration["retry-after"] == "5")
            expectRefusal(try await gateway.refusal(late.handshake(at: gateway)), 401, "unknown_key")
            expectRefusal(try await ticket(for: device, at: gateway), 503, "audit_unavailable")
            let command = try await ticket()
            #expect(command.ending == .exited(1) && command.errorText.contains("AUDIT_FULL"), "\(command)")
            expectRefusal(try await gateway.refusal(Handshake()), 401, "app_auth_required")
            #expect(try await warnings(of: gateway).contains("The audit log can't be written: "))
            try await Edge.expectEcho(live)

            try disk.empty(of: gateway.processID)
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
            #expect(try await late.register(at: gateway).status == 200)
            #expect(try await ticket(for: late, at: gateway).status == 200)
            #expect(try await ticket().ending == .exited(0))
            #expect(try await warnings(of: gateway).contains("The audit log is written again: "))
            try await Edge.expectEcho(live)

            let lines = try lines(of: gateway)
            func count(_ event: String) -> Int {
                lines.count { $0["event"] == event && $0["outcome"] == "admitted" }
            }
            #expect(count("upgrade") == admitted + 1)
            #expect(count("registration") == 2 && count("ticket") == 2)
            #expect(lines.contains { $0["event"] == "gap" })
        }

        /// The log states how many lines are missing; with these it has one line for each decision.
        @Test func `with AUDIT_FULL=continue all clients are admitted and the gap is recorded`() async throws {
            let edge = try await start("continue")
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            try disk.fill(of: gateway.processID)
            for _ in 0..<30 {
                let socket = try await gateway.open(device.handshake(at: gateway))
                await socket.connection.close()
            }
            try await gateway.child.output.wait(for: "the sessions' ends", within: .seconds(20)) { output in
                output.errorLines.count { $0.contains("session ended") } == 30 ? true : nil
            }
            let late = try apple.device()
            #expect(try await late.register(at: gateway).status == 200)
            #expect(try await ticket().ending == .exited(0))
            #expect(try await warnings(of: gateway).contains("The audit log can't be written: "))

            try disk.empty(of: gateway.processID)
            try await Edge.expectEcho(gateway.open(late.handshake(at: gateway)))
            #expect(try await warnings(of: gateway).contains("The audit log is written again: "))
            let lines = try lines(of: gateway)
            let missing = lines.filter { $0["event"] == "gap" }.compactMap { $0["count"].flatMap { Int($0) } }
            let written = lines.count { $0["event"] != "gap" }
            // Two registrations, thirty-one upgrades, a ticket, and the ends of all sessions but perhaps the last one.
            let total = written + missing.reduce(0, +)
            #expect(missing.count == 1 && (64...65).contains(total), "\(missing) \(written)")
            #expect(try #require(missing.first) > 10)
        }

        /// The gateway notices free space without a new request.
        @Test func `the gateway retries the audit log by itself`() async throws {
            let edge = try await start(nil)
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try disk.fill(of: edge.gateway.processID)
            _ = try await admittedUntilRefused(device, at: edge.gateway)
            try disk.empty(of: edge.gateway.processID)
            try await edge.gateway.errorLine("The audit log is written again.")
            #expect(try lines(of: edge.gateway).last?["event"] == "gap")
        }

        @Test func `a reload changes AUDIT_FULL`() async throws {
            let edge = try await start(nil)
            let gateway = edge.gateway
            let device = try await apple.enrolledDevice(at: gateway)
            try disk.fill(of: gateway.processID)
            _ = try await admittedUntilRefused(device, at: gateway)
            let lines = gateway.settings.setting("AUDIT_FULL", "continue").values.map { "\($0.key)=\($0.value)\n" }
            try gateway.directory.write(lines.joined(), to: "portcullis.env")
            let reload = try await GatewayProcess.run(["reload", "--socket", directory.file("control.sock")])
            #expect(reload.ending == .exited(0) && reload.outputText.contains("AUDIT_FULL"), "\(reload)")
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway)))
        }
    }
}
