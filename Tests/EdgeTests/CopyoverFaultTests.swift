import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What an upgrade must not change beside the sessions.
    @Suite struct CopyoverFaultTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(
            environment: [String: String] = [:], _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Edge {
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port)
                .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            let gateway = try await GatewayProcess.start(change(settings), environment: environment)
            return Edge(target: target, gateway: gateway)
        }

        /// A service manager that hears `STOPPING=1` from any process of the service ends all of them.
        @Test func `the old process says nothing to the service manager after it has named the new one`() async throws {
            let receiver = try NotificationReceiver(directory.file("notify"))
            let edge = try await start(environment: ["NOTIFY_SOCKET": receiver.address, "WATCHDOG_USEC": "100000"])
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await Edge.expectEcho(raw)
            let successor = try await Successor.start(replacing: edge.gateway)
            try await receiver.next("MAINPID=\(successor.processID)")
            try await raw.close(1000)
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            // What comes from now on is behind all that the old process has said.
            let before = receiver.messages.current.count { $0.contains("RELOADING=1") }
            kill(successor.processID, SIGHUP)
            let heard = try await receiver.messages.wait(for: "a reload") { messages in
                messages.count { $0.contains("RELOADING=1") } > before ? messages : nil
            }
            #expect(!heard.contains { $0.contains("STOPPING=1") }, "\(heard)")
        }

        @Test func `lists that the new process reads exclude sessions that stay with the old one`() async throws {
            let list = try directory.write("", to: "blocked")
            let edge = try await start { $0.setting("BLOCK_LIST_PATH", list) }
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await Edge.expectEcho(raw)
            let successor = try await Successor.start(replacing: edge.gateway)
            #expect(successor.report.contains("stay with the old process (\(edge.gateway.processID))"))
            _ = try directory.write("address 127.0.0.1\n", to: "blocked")
            kill(successor.processID, SIGHUP)
            _ = try await raw.closedByServer(within: .seconds(60))
            try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            withExtendedLifetime(successor) {}
        }

        @Test func `the program may be replaced before the upgrade`() async throws {
            let program = directory.file("portcullis")
            try FileManager.default.copyItem(atPath: try Binaries.portcullis(), toPath: program)
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port)
                .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            let gateway = try await GatewayProcess.start(settings, program: program)
            try FileManager.default.copyItem(atPath: try Binaries.portcullis(), toPath: program + ".new")
            #expect(rename(program + ".new", program) == 0)
            let successor = try await Successor.start(replacing: gateway)
            try await Edge.expectEcho(gateway.open())
            withExtendedLifetime(successor) {}
        }

        /// It says that it has everything, and ends with the order to begin.
        @Test func `sessions return to the old process if the new one dies before it serves`() async throws {
            let edge = try await start()
            let player = try await CopyoverPlayer(.typed, at: edge)
            let reading = Task { try await player.readPast(closes: 1) }
            let script = HandoverScript.ready() + HandoverScript.word("staged") + HandoverScript.takeUntilCommit
            let output = try await upgrade(to: script)
            #expect(output.ending == .exited(1) && output.errorText.contains("didn't begin to serve"), "\(output)")
            try await reading.value
            await player.say("echo")
            try await player.read(upTo: "echo\r\n")
            #expect(edge.target.connectionCount == 1)
            try await edge.expectHealthy()
        }

        private func upgrade(to script: String) async throws -> ChildOutput {
            let program = try directory.write("#!/bin/sh\n\(script)\n", to: "program")
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            return try await GatewayProcess.run(
                ["upgrade", "--program", program, "--socket", directory.file("control.sock")])
        }

        /// Its sessions are lost, since it may have read from their targets; nobody else is.
        @Test func `a new process that dies after it has begun leaves the old one serving`() async throws {
            let edge = try await start()
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            try await Edge.expectEcho(raw)
            let typed = try await edge.gateway.open()
            _ = try await TypedSession.connect(typed)
            // It asks for nothing, so it may say everything at once; it ends when the order to begin has come.
            let script =
                HandoverScript.ready() + HandoverScript.word("staged") + HandoverScript.word("serving")
                + HandoverScript.takeUntilCommit
            let output = try await upgrade(to: script)
            #expect(
                output.ending == .exited(1) && output.errorText.contains("1 sessions are lost with it"), "\(output)")
            try await Edge.expectEcho(raw)
            try await edge.expectHealthy()
            let successor = try await Successor.start(replacing: edge.gateway)
            withExtendedLifetime(successor) {}
        }
    }
}
