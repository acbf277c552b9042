import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Sessions survive many reloads. They must not keep data alive that only decides about new clients.
    @Suite struct ReloadMemoryTests {
        private static let lines = 40_000
        private static let reloads = 8

        @Test func `sessions don't retain old block lists`() async throws {
            let bench = try await ReloadTests.Bench()
            let process = bench.gateway.processID
            var sessions: [TestWebSocket] = []
            // Two lists exist while the second is read; the allocator keeps that memory.
            for number in 0..<3 { sessions.append(try await generation(number, of: bench)) }
            let before = try ProcessMemory.residentKiB(of: process)
            for number in 3..<3 + Self.reloads { sessions.append(try await generation(number, of: bench)) }
            let after = try ProcessMemory.residentKiB(of: process)
            print("\(Self.reloads) reloads of \(Self.lines) lines: \(before) KiB before, \(after) after")
            #expect(after - before < 16_384, "\(after - before) KiB")
            for session in sessions { try await Edge.expectEcho(session) }
        }

        /// A different list, and a session that begins under it.
        private func generation(_ number: Int, of bench: ReloadTests.Bench) async throws -> TestWebSocket {
            let list = (0..<Self.lines).map { "certificate \(String(format: "%056x%08x", number, $0))\n" }
            try bench.directory.write(list.joined(), to: "blocked")
            try await bench.reload(.command)
            return try await bench.gateway.open(Handshake().offering("binary"))
        }
    }
}
