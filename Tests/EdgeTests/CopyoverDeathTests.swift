import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The process that is replaced is killed during the upgrade. Nobody starts another one: the new process serves, or
    /// nobody does.
    @Suite struct CopyoverDeathTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// A gateway, and a new process for it that says which it is.
        private final class Stage: Sendable {
            let edge: Edge
            private let directory: TemporaryDirectory
            private let program: String

            init(_ edge: Edge, first command: String = "true", in directory: TemporaryDirectory) throws {
                self.edge = edge
                self.directory = directory
                let start = "exec \(try Binaries.portcullis()) \"$@\"\n"
                let lines = ["#!/bin/sh", "echo $$ >\(directory.file("id"))", command, start]
                program = try directory.write(lines.joined(separator: "\n"), to: "program")
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
            }

            deinit { if let id = successorID { kill(id, SIGKILL) } }

            private var successorID: Int32? {
                (try? String(contentsOfFile: directory.file("id"), encoding: .utf8))
                    .flatMap { Int32($0.trimmingCharacters(in: .newlines)) }
            }

            /// Asks for the upgrade, whose answer nobody will give.
            func begin() -> Task<ChildOutput, any Error> {
                Task { [program, socket = directory.file("control.sock")] in
                    try await GatewayProcess.run(["upgrade", "--program", program, "--socket", socket])
                }
            }

            func killOld() async throws {
                edge.gateway.child.signal(SIGKILL)
                try await waitForEnd()
            }

            /// Its output goes on: the new process has it too.
            func waitForEnd() async throws {
                try await edge.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            }

            func signalSuccessor(_ number: Int32) throws {
                guard let id = successorID else { throw EdgeTestError("no new process") }
                kill(id, number)
            }

            /// A session from end to end, through the new process, which can be upgraded in its turn.
            @discardableResult
            func expectService() async throws -> Successor {
                try await edge.gateway.eventually("the new process serves") {
                    guard let answer = try? await edge.gateway.get("/health") else { return false }
                    return answer.status == 200
                }
                try await edge.expectHealthy()
                let socket = try await edge.gateway.open()
                _ = try await TypedSession.connect(socket)
                try await socket.close(1000)
                let next = try await Successor.start(replacing: edge.gateway)
                #expect(next.report.contains("serves since now"))
                return next
            }
        }

        private func start(
            first command: String = "true", _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> Stage {
            // The new process opens what it didn't get.
            let port = try FrontProxy.freePort()
            let edge = try await Edge.start(.scripted) {
                change($0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock")))
                    .setting("COPYOVER_READY_MS", 600_000).setting("WS_PORT", port)
            }
            return try Stage(edge, first: command, in: directory)
        }

        @Test func `before the new process has read anything, it serves with the sockets that it gets`() async throws {
            let stage = try await start(first: "kill -9 $PPID")
            let upgrade = stage.begin()
            _ = try await upgrade.value
            try await stage.waitForEnd()
            try await stage.expectService()
        }

        /// A client that doesn't go holds it up.
        @Test func `while the old process waits for clients, the new one serves, without sessions`() async throws {
            let stage = try await start()
            let socket = try await stage.edge.gateway.open()
            let session = try await TypedSession.connect(socket)
            let target = try await stage.edge.target.connection()
            let upgrade = stage.begin()
            try await stage.edge.gateway.logLine("the new process is ready", within: .seconds(60))
            try await stage.killOld()
            _ = try await upgrade.value
            _ = try await target.receiveToEnd()
            try await stage.edge.gateway.logLine("ended during the upgrade, and its sessions with it")
            let late = try await session.attempt(at: stage.edge, after: 0)
            #expect(try await late.nextTyped("error")["code"] == "session_expired")
            await late.connection.reset()
            try await stage.expectService()
        }

        @Test func `with some sessions on their way none goes on, and their targets see the end`() async throws {
            // One of them is more than the channel holds while the new process is stopped.
            let stage = try await start { $0.setting("OUTPUT_BUFFER_BYTES", 4_194_304) }
            let player = try await CopyoverPlayer(.gmcp, at: stage.edge)
            let target = try await CopyoverTarget(stage.edge.target.connection(), isCompressed: false)
            try await target.send(String(repeating: "x", count: 2_000_000))
            try await player.read(atLeast: 2_000_000)
            let small = try await CopyoverPlayer(.json, at: stage.edge)
            let upgrade = stage.begin()
            try await stage.edge.gateway.logLine("the new process is ready", within: .seconds(60))
            try stage.signalSuccessor(SIGSTOP)
            let reading = [player, small].map { player in Task { try await player.readPast(closes: 1) } }
            try await stage.edge.gateway.logLine("sessions rest", "count=2", within: .seconds(60))
            try await stage.killOld()
            try stage.signalSuccessor(SIGCONT)
            _ = try await upgrade.value
            for index in 0..<2 { _ = try await stage.edge.target.connection(index).receiveToEnd() }
            // They are told honestly that there is no such session.
            for reading in reading {
                let outcome = await reading.result
                #expect(throws: (any Error).self) { try outcome.get() }
            }
            #expect(!stage.edge.gateway.output.errorText.contains("all sessions are sent"))
            try await stage.expectService()
        }

        @Test(arguments: CopyoverPlayer.Dialect.allCases)
        func `with all sessions there the new process goes on with them, and no byte is missing`(
            dialect: CopyoverPlayer.Dialect
        ) async throws {
            let stage = try await start()
            let player = try await CopyoverPlayer(dialect, at: stage.edge)
            let target = try await CopyoverTarget(stage.edge.target.connection(), isCompressed: true)
            try await target.send("<1>")
            try await player.read(upTo: "<1>")
            let upgrade = stage.begin()
            try await stage.edge.gateway.logLine("the new process is ready", within: .seconds(60))
            try stage.signalSuccessor(SIGSTOP)
            let reading = Task { try await player.readPast(closes: 1) }
            try await stage.edge.gateway.logLine("all sessions are sent", "count=1", within: .seconds(60))
            try await target.send("<2>")
            try await stage.killOld()
            try await target.send("<3>")
            try stage.signalSuccessor(SIGCONT)
            _ = try await upgrade.value
            try await reading.value
            try await player.read(upTo: "<3>")
            await player.say("on")
            #expect(try await target.connection.receiveText(4) == "on\r\n")
            #expect(await String(decoding: player.received, as: UTF8.self) == "<1><2><3>")
            #expect(stage.edge.target.connectionCount == 1)
            try await stage.edge.gateway.auditLine("\"operation\"", "upgrade_done", "1 sessions went")
            let again = Task { try await player.readPast(closes: 2) }
            let next = try await stage.expectService()
            try await again.value
            withExtendedLifetime(next) {}
        }
    }
}
