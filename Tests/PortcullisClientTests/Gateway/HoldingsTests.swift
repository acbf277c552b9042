import EdgeTestKit
import Testing

@testable import PortcullisClient

extension GatewayTests {
    /// What cuts leave behind.
    @Suite struct HoldingsTests {
        private static let cuts = 30
        /// Longer than the test: what isn't let go of by then is kept.
        private static let longLimit = 3_600.0

        @Test func `after many cuts one socket and one sleep are held, and after the end none`() async throws {
            let stage = try await Stage(.scripted, tls: false) { $0.setting("REQUIRE_APP_AUTH", "false") }
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let holdings = Holdings()
            let bench = try Bench("http://localhost:\(relay.port)", apple: stage.apple, holdings: holdings) {
                $0.limits.upgrade = Self.longLimit
                // A connection's watch sleeps a quarter of it.
                $0.reconnection.probeAfter = 4 * Self.longLimit
            }
            let player = Player(bench.client.connect(ConnectionOptions(.none)))
            for cut in 1...Self.cuts {
                try await player.connected(times: cut)
                await relay.cut()
                relay.mend()
            }
            try await player.connected(times: Self.cuts + 1)
            try await holdings.counts.wait(for: "one socket and one sleep") { counts in
                counts.sockets == 1 && counts.sleeps == 1 ? () : nil
            }
            #expect(holdings.counts.current.allSockets > Self.cuts)
            await player.connection.close()
            _ = try await player.end()
            try await holdings.counts.wait(for: "nothing held") { counts in
                counts.sockets == 0 && counts.sleeps == 0 ? () : nil
            }
        }
    }
}
