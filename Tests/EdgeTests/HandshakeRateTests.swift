import EdgeTestKit
import Testing

extension EdgeTests {
    /// The rate limit and the time limit of TLS handshakes.
    @Suite struct HandshakeRateTests {
        /// A burst may use ten seconds' allowance, so the last of two hundred within a few seconds are closed.
        @Test func `handshakes above an address's rate are closed unanswered`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("TLS_HANDSHAKES_PER_SECOND_PER_ADDRESS", 1)
            }
            var connections: [RawConnection] = []
            for _ in 0..<200 { connections.append(try await RawConnection.open(port: edge.gateway.port)) }
            let last = try #require(connections.last)
            #expect(try await last.receiveToEnd().isEmpty)
        }

        /// A session begins and uses the only handshake of its second. The others wait, and the session isn't
        /// disturbed.
        @Test func `handshakes above the total rate wait for their turn`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("TLS_HANDSHAKES_PER_SECOND", 2).setting("REACTOR_THREADS", 1)
            }
            let session = try await edge.gateway.open()
            let waiting = try await withThrowingTaskGroup(of: TestWebSocket.self) { group in
                for _ in 0..<6 { group.addTask { try await edge.gateway.open() } }
                try await Edge.expectEcho(session)
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for socket in waiting { try await Edge.expectEcho(socket) }
        }

        /// The time limit of a header starts at the end of the handshake.
        @Test func `the header's time limit applies to a client that is silent after its TLS handshake`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).setting("REQUEST_TIMEOUT_MS", 2000)
            }
            let silent = try await RawConnection.open(port: edge.gateway.port, tls: TLSChoice())
            _ = try await silent.receiveToEnd()
            try await edge.expectHealthy()
        }
    }
}
