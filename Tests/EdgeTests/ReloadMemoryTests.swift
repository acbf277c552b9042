import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Sessions live through many reloads. What only newcomers are judged by must not be kept for them.
    @Suite struct ReloadMemoryTests {
        private static let lines = 40_000
        private static let reloads = 8

        @Test func sessionsDoNotKeepTheBlockListsOfTheirTime() async throws {
            let bench = try await ReloadTests.Bench()
            let process = bench.gateway.processID
            var sessions: [TestWebSocket] = []
            // Two lists are there while the second is read; what that takes stays with the allocator.
            for number in 0..<3 { sessions.append(try await generation(number, of: bench)) }
            let before = try ProcessMemory.residentKiB(of: process)
            for number in 3..<3 + Self.reloads { sessions.append(try await generation(number, of: bench)) }
            let after = try ProcessMemory.residentKiB(of: process)
            print("\(Self.reloads) reloads of \(Self.lines) lines: \(before) KiB before, \(after) after")
            #expect(after - before < 16_384, "\(after - before) KiB")
            for session in sessions { try await Edge.expectEcho(session) }
        }

        /// Another list than before, and a session that begins under it.
        private func generation(_ number: Int, of bench: ReloadTests.Bench) async throws -> TestWebSocket {
            let list = (0..<Self.lines).map { "certificate \(String(format: "%056x%08x", number, $0))\n" }
            try bench.directory.write(list.joined(), to: "blocked")
            try await bench.reload(.command)
            return try await bench.gateway.open(Handshake().offering("binary"))
        }
    }
}
