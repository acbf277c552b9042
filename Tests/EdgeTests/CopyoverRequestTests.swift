import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// How an upgrade is asked for by a signal, and what new connections see of it.
    @Suite struct CopyoverRequestTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start() async throws -> Edge {
            try await Edge.start(.echo) { $0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock")) }
        }

        @Test func `SIGUSR2 upgrades too`() async throws {
            let edge = try await start()
            let player = try await CopyoverPlayer(.gmcp, at: edge)
            kill(edge.gateway.processID, SIGUSR2)
            let line = try await edge.gateway.logLine("another process serves from here on", within: .seconds(60))
            let id = try #require(line.firstMatch(of: /pid=(\d+)/).flatMap { Int32($0.1) })
            defer { kill(id, SIGKILL) }
            try await player.readPast(closes: 1)
            await player.say("echo")
            try await player.read(upTo: "echo\r\n")
        }

        /// Connections that come while nobody accepts wait in the queue.
        @Test func `no connection is refused during an upgrade`() async throws {
            let edge = try await start()
            let players = try await inParallel(8) { _ in try await CopyoverPlayer(.typed, at: edge) }
            let isOver = Awaited(false)
            let visitors = (0..<4).map { _ in
                Task { () -> Int in
                    var count = 0
                    while !isOver.current {
                        let answer = try await edge.gateway.get("/health")
                        guard answer.status == 200 else { throw EdgeTestError("\(answer)") }
                        count += 1
                    }
                    return count
                }
            }
            let reading = players.map { player in Task { try await player.readPast(closes: 1) } }
            let successor = try await Successor.start(replacing: edge.gateway)
            for reading in reading { try await reading.value }
            isOver.update { $0 = true }
            for visitor in visitors { #expect(try await visitor.value > 0) }
            withExtendedLifetime(successor) {}
        }
    }
}
