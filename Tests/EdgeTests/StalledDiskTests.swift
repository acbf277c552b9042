import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The key store's disk stalls during more registrations than the machine has cores. It stalls until the test
    /// releases it, so everything observed before that happens on a stalled disk.
    @Suite(.enabled(if: StallingDisk.isAvailable, "needs a C compiler, and a gateway without a sanitizer"))
    struct StalledDiskTests {
        @Test func `while the disk stalls sessions continue, tickets admit and assertions get 503`() async throws {
            let bench = try await Bench()
            let live = try await bench.gateway.open(bench.device.handshake(at: bench.gateway))
            let ticket = try await bench.ticket()
            try await bench.stalled {
                for _ in 0..<20 { try await Edge.expectEcho(live) }
                try await Edge.expectEcho(bench.gateway.open(Handshake().path("/?ticket=" + ticket)))
                // The registration that waits for the disk holds the write lock.
                let refused = try await bench.gateway.refusal(bench.device.handshake(at: bench.gateway))
                expectRefusal(refused, 503, "store_unavailable")
                #expect(try await bench.gateway.get("/health").status == 200)
                try await Edge.expectEcho(live)
            }
            try await Edge.expectEcho(live)
            try await Edge.expectEcho(bench.gateway.open(bench.device.handshake(at: bench.gateway)))
        }

        @Test func `a reload is answered`() async throws {
            let bench = try await Bench()
            try await bench.stalled {
                let output = try await GatewayProcess.run(["reload", "--socket", bench.socketPath])
                #expect(output.ending == .exited(0), "\(output)")
                bench.gateway.child.signal(SIGHUP)
                try await bench.gateway.child.output.wait(for: "the second reload") { output in
                    output.errorLines.count { $0.contains(" reloaded") } == 2 ? true : nil
                }
            }
        }

        /// The reload also opens the audit log again, which can't be done now.
        @Test func `a reload is answered while the audit log is stuck`() async throws {
            let disk = try await StallingDisk(stallsWrites: true)
            let bench = try await Bench(on: disk) { $0.setting("AUDIT_LOG_PATH", disk.file("audit.log")) }
            try await bench.stalled {
                let output = try await GatewayProcess.run(["reload", "--socket", bench.socketPath])
                #expect(output.ending == .exited(0), "\(output)")
            }
            try await bench.gateway.errorLine("audit log reopened")
        }

        /// The reload writes the counts of refusals, which can't be written now either.
        @Test func `reloads are done while counted refusals wait for a stuck audit log`() async throws {
            let disk = try await StallingDisk(stallsWrites: true)
            let bench = try await Bench(on: disk) {
                $0.setting("AUDIT_LOG_PATH", disk.file("audit.log")).setting("AUDIT_REFUSALS_PER_MINUTE", 2)
            }
            for _ in 0..<4 { expectRefusal(try await bench.gateway.refusal(Handshake()), 401, "app_auth_required") }
            try await bench.stalled {
                let output = try await GatewayProcess.run(["reload", "--socket", bench.socketPath])
                #expect(output.ending == .exited(0), "\(output)")
                bench.gateway.child.signal(SIGHUP)
                try await bench.gateway.child.output.wait(for: "the second reload") { output in
                    output.errorLines.count { $0.contains(" reloaded") } == 2 ? true : nil
                }
            }
        }

        @Test func `the process exits at the shutdown deadline`() async throws {
            let bench = try await Bench {
                $0.setting("SHUTDOWN_GRACE_MS", 100).setting("SHUTDOWN_DEADLINE_MS", 500)
            }
            try await bench.stalled {
                bench.gateway.terminate()
                let output = try await bench.gateway.child.ended()
                #expect(output.ending == .exited(0), "\(output)")
                #expect(output.errorText.contains("the shutdown's deadline is reached"), "\(output)")
            }
        }

        /// The audit log is on the same disk: its last lines can't be written, and the exit doesn't wait for them.
        @Test func `the process exits at the deadline while its audit log is stuck`() async throws {
            let disk = try await StallingDisk(stallsWrites: true)
            let bench = try await Bench(on: disk) {
                $0.setting("SHUTDOWN_GRACE_MS", 100).setting("SHUTDOWN_DEADLINE_MS", 500)
                    .setting("AUDIT_LOG_PATH", disk.file("audit.log"))
            }
            try await bench.stalled {
                bench.gateway.terminate()
                let output = try await bench.gateway.child.ended()
                #expect(output.ending == .exited(0), "\(output)")
            }
        }

        /// Only a checkpoint waits for the disk: the shutdown needn't wait for any client.
        @Test func `a shutdown without sessions doesn't wait for a checkpoint`() async throws {
            let bench = try await Bench {
                $0.setting("SHUTDOWN_GRACE_MS", 100_000).setting("SHUTDOWN_DEADLINE_MS", 200_000)
            }
            try bench.disk.stall()
            try await StallingDisk.isWaited(for: bench.gateway)
            bench.gateway.terminate()
            #expect(try await bench.gateway.child.ended().ending == .exited(0))
            bench.disk.goOn()
        }

        @Test func `a registration above the queue limit gets a Retry-After`() async throws {
            let bench = try await Bench()
            try await bench.prepared(count: 65) { registrations in
                try bench.disk.stall()
                let answers = try await bench.answers(to: registrations) { bench.disk.goOn() }
                let first = try #require(answers.first)
                expectRefusal(first, 503, "attestation_unavailable")
                #expect(first["retry-after"] == "2", "\(first)")
                // The others wait for the disk; on a slow machine they may wait so long that they are told to retry
                // later, too.
                for answer in answers.dropFirst() {
                    #expect(answer.status == 200 || answer["retry-after"] == "5", "\(answer)")
                }
            }
            #expect(try await bench.apple.device().register(at: bench.gateway).status == 200)
        }
    }
}

extension EdgeTests.StalledDiskTests {
    /// A gateway whose store is on a disk that can stall, with a registered device.
    struct Bench {
        let disk: StallingDisk
        let apple: SimulatedApple
        let target: TargetServer
        let gateway: GatewayProcess
        let device: TestDevice
        let socketPath: String

        init(on disk: StallingDisk? = nil, _ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
            let stalling: StallingDisk
            if let disk { stalling = disk } else { stalling = try await StallingDisk() }
            self.disk = stalling
            apple = try SimulatedApple()
            target = try await TargetServer.start(.echo)
            let directory = try TemporaryDirectory()
            socketPath = directory.file("control.sock")
            let settings = GatewaySettings(targetPort: target.port).appAttest(apple)
                .setting("CHALLENGES_PER_MINUTE", 10_000).setting("CONTROL_SOCKET_PATH", socketPath)
            gateway = try await GatewayProcess.start(change(settings), in: directory, stalling: stalling)
            device = try await apple.enrolledDevice(at: gateway)
        }

        /// A ticket for the device.
        func ticket() async throws -> String {
            let headers = try await device.assertionHeaders(nonce: gateway.challenge())
            let fields = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            let answer = try await gateway.request(
                "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\(fields)\r\n")
            return try #require(answer.strings?["ticket"], "\(answer)")
        }

        /// Runs `body` while registrations wait for the disk, and then releases them.
        func stalled(_ body: () async throws -> Void) async throws {
            let count = min(ProcessInfo.processInfo.activeProcessorCount + 2, 60)
            try await prepared(count: count) { registrations in
                try disk.stall()
                let waiting = Task { [self] in try await answers(to: registrations) {} }
                do {
                    defer { disk.goOn() }
                    try await StallingDisk.isWaited(for: gateway)
                    try await body()
                }
                // If the process has ended, none is answered.
                _ = try? await waiting.value
            }
        }

        /// Connections, each with a registration that hasn't been sent yet.
        func prepared(
            count: Int, _ body: ([(connection: RawConnection, request: String)]) async throws -> Void
        ) async throws {
            var registrations: [(RawConnection, String)] = []
            for _ in 0..<count {
                let registration = try apple.device().registration(nonce: try await gateway.challenge())
                let connection = try await gateway.connect()
                registrations.append((connection, GatewayProcess.post("/attest/register", registration)))
            }
            try await body(registrations)
        }

        /// Sends all of them, and returns the answers in order of arrival.
        func answers(
            to registrations: [(connection: RawConnection, request: String)],
            afterTheFirst: @escaping @Sendable () -> Void
        ) async throws -> [ReceivedAnswer] {
            try await withThrowingTaskGroup(of: ReceivedAnswer.self) { group in
                for (connection, request) in registrations {
                    group.addTask {
                        try await connection.send(request)
                        return try await connection.answer()
                    }
                }
                var answers: [ReceivedAnswer] = []
                for try await answer in group {
                    if answers.isEmpty { afterTheFirst() }
                    answers.append(answer)
                }
                return answers
            }
        }
    }
}
