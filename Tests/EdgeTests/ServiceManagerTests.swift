import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The real binary under a service manager that speaks sd_notify(3).
    @Suite struct ServiceManagerTests {
        private let directory: TemporaryDirectory

        init() throws {
            directory = try TemporaryDirectory()
        }

        private func start(
            _ receiver: NotificationReceiver, _ environment: [String: String] = [:],
            _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            let target = try await TargetServer.start(.echo)
            let gateway = try await GatewayProcess.start(
                change(GatewaySettings(targetPort: target.port)), in: directory,
                environment: environment.merging(["NOTIFY_SOCKET": receiver.address]) { $1 })
            return Edge(target: target, gateway: gateway)
        }

        /// The control socket is opened last.
        @Test(arguments: [false, true])
        func `the start is reported when every listener is open, and the end when it begins`(isAbstract: Bool)
            async throws
        {
            let receiver = try NotificationReceiver(
                isAbstract ? "@portcullis-edge-\(UUID())" : directory.file("notify"))
            let control = directory.file("control.sock")
            let internalSocket = directory.file("internal.sock")
            let edge = try await start(receiver) {
                $0.setting("CONTROL_SOCKET_PATH", control).setting("ADMIN_BIND", "unix:\(internalSocket)")
            }
            let ready = try await receiver.next("READY=1")
            #expect(ready == "READY=1\nSTATUS=Serving http://127.0.0.1:\(edge.gateway.port)")
            for path in [control, internalSocket] { #expect(FileManager.default.fileExists(atPath: path)) }
            try await Edge.expectEcho(edge.gateway.open())
            edge.gateway.terminate()
            try await receiver.next("STOPPING=1")
            #expect(try await edge.gateway.child.ended().ending == .exited(0))
        }

        @Test func `a reload is reported with its time, and its end with its result`() async throws {
            let receiver = try NotificationReceiver(directory.file("notify"))
            let edge = try await start(receiver)
            try await receiver.next("READY=1")

            var times: [UInt64] = []
            for isRefused in [false, true] {
                let line = isRefused ? "MAX_BODY_BYTES=none" : "MAX_BODY_BYTES=20000"
                let settings = try String(contentsOfFile: directory.file("portcullis.env"), encoding: .utf8)
                try directory.write(settings + line + "\n", to: "portcullis.env")
                edge.gateway.child.signal(SIGHUP)
                let begun = try await receiver.next("RELOADING=1")
                let time = try #require(begun.firstMatch(of: /MONOTONIC_USEC=(\d+)/)?.1)
                times.append(try #require(UInt64(time)))
                let ended = try await receiver.next("READY=1")
                #expect(ended.contains("The last reload was refused: MAX_BODY_BYTES") == isRefused, "\(ended)")
            }
            var now = timespec()
            clock_gettime(CLOCK_MONOTONIC, &now)
            let limit = UInt64(now.tv_sec + 1) * 1_000_000
            #expect(times[0] < times[1] && times[1] < limit && times[0] + 60_000_000 > limit)
        }

        @Test func `an upgrade names the new process, and the old one's end isn't the service's`() async throws {
            let receiver = try NotificationReceiver(directory.file("notify"))
            let control = directory.file("control.sock")
            let edge = try await start(receiver) { $0.setting("CONTROL_SOCKET_PATH", control) }
            try await receiver.next("READY=1")
            let successor = try await Successor.start(replacing: edge.gateway)
            try await receiver.next("MAINPID=\(successor.processID)")
            // The new process has its output.
            let ending = try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            #expect(ending == .exited(0))
            #expect(!receiver.messages.current.contains { $0.contains("STOPPING=1") })
            kill(successor.processID, SIGTERM)
            try await receiver.next("STOPPING=1")
        }

        @Test func `the watchdog hears of a living process again and again, while it drains too`() async throws {
            let receiver = try NotificationReceiver(directory.file("notify"))
            let edge = try await start(receiver, ["WATCHDOG_USEC": "100000"]) {
                $0.setting("SHUTDOWN_GRACE_MS", 20_000).setting("SHUTDOWN_DEADLINE_MS", 30_000)
            }
            try await receiver.next("READY=1")
            for _ in 0..<3 { try await receiver.next("WATCHDOG=1") }
            let session = try await edge.gateway.open()
            // It has begun: a session that begins during a shutdown is closed.
            try await Edge.expectEcho(session)
            edge.gateway.terminate()
            try await receiver.next("STOPPING=1")
            for _ in 0..<3 { try await receiver.next("WATCHDOG=1") }
            try await Edge.expectEcho(session)
        }
    }
}
