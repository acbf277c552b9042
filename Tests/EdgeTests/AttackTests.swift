import EdgeTestKit
import Testing

extension EdgeTests {
    /// Attackers and honest clients at the same time, each with their own addresses. This doesn't test times: see
    /// `scripts/attack`.
    @Suite struct AttackTests {
        /// Two of the five kinds reach a limit of their addresses; all of them continue until the end.
        private static let attack = [
            "--addresses", "1", "--upgrades", "100000", "--upgrade-connections", "8", "--half-open", "300",
            "--slow-headers", "200", "--flooders", "4", "--challengers", "4", "--refusals", "0",
        ]

        @Test func `honest clients connect and echo during an attack`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let directory = try TemporaryDirectory()
            let edge = try await Edge.start {
                $0.tls(certificates).appAttest(apple).setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
                    .setting("MESSAGES_PER_SECOND", 60).setting("MESSAGES_PER_SECOND_PER_IP", 240)
                    .setting("CLIENT_BYTES_PER_SECOND", 262_144).setting("TARGET_BYTES_PER_SECOND", 4_194_304)
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let before = try await edge.gateway.open(device.handshake(at: edge.gateway))
            let ticket = try await ChildProcess.check(
                Binaries.portcullis(), ["ticket", "--socket", directory.file("control.sock"), "--uses", "1000"])
            let attack = try await AttackProcess.start(
                on: edge.gateway, ca: certificates.serverCA,
                Self.attack + ["--ticket", try #require(ticket.outputLines.first)])
            _ = try await edge.gateway.auditLine("rate_limited")
            for round in 0..<12 {
                try await Edge.expectEcho(before, "before \(round)")
                let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
                for line in 0..<5 { try await Edge.expectEcho(socket, "round \(round), line \(line)") }
                try await socket.close()
                try await edge.expectHealthy()
            }
            #expect(!attack.isOver)
        }
    }
}
