import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A seeded flood of malformed requests and frames: no crash, no hang, no leak that grows with the number of
    /// inputs.
    ///
    /// `PORTCULLIS_SEED` replays a run. `scripts/fuzz-edge` sends many more, to a gateway with Address Sanitizer.
    @Suite struct MalformedInputTests {
        private static let environment = ProcessInfo.processInfo.environment
        private static let inputs = 5_000
        private static let seed = environment["PORTCULLIS_SEED"].flatMap { UInt64($0) } ?? 20_261_121
        /// Connections at the same time.
        private static let width = 16

        @Test(.timeLimit(.minutes(60)))
        func `the edge survives random malformed input`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let plain = try await Edge.start { Self.tolerant($0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false")) }
            let secure = try await Edge.start { Self.tolerant($0.tls(certificates).clientCA(certificates)) }
            let batches = 20
            var middle = 0
            for batch in 0..<batches {
                try await send(Self.inputs / batches, batch: batch, to: plain, secure)
                try await plain.expectHealthy()
                try await secure.expectHealthy()
                if batch == batches / 2 { middle = try ProcessMemory.residentKiB(of: plain.gateway.processID) }
            }
            let end = try ProcessMemory.residentKiB(of: plain.gateway.processID)
            print("\(Self.inputs) malformed inputs, seed \(Self.seed): \(middle) KiB half-way, \(end) KiB at the end")
            #expect(end - middle < 8 * 1024, "\(middle) KiB, then \(end) KiB")
            for edge in [plain, secure] {
                try await Edge.expectEcho(edge.gateway.open())
                let output = try await edge.gateway.stop()
                #expect(output.ending == .exited(0), "\(output)")
                #expect(!output.errorText.contains("Sanitizer") && !output.errorText.contains("Fatal error"))
            }
        }

        /// Limits that would end the test early are disabled or raised.
        private static func tolerant(_ settings: GatewaySettings) -> GatewaySettings {
            settings.setting("MAX_CONNECTIONS_PER_ADDRESS", 10_000).setting("FAILED_UPGRADES_PER_MINUTE", 1_000_000)
                .setting("CHALLENGES_PER_MINUTE", 1_000_000)
                .setting("LOG_LEVEL", "error").setting("REQUEST_TIMEOUT_MS", 2000)
        }

        private func send(_ count: Int, batch: Int, to plain: Edge, _ secure: Edge) async throws {
            _ = try await inParallel(Self.width) { lane in
                for number in stride(from: lane, to: count, by: Self.width) {
                    let input = UInt64(batch * count + number)
                    var generator = SeededGenerator(seed: Self.seed &+ input)
                    do {
                        switch input % 10 {
                        case 0..<5: try await request(&generator, at: plain)
                        case 5..<9: try await frames(&generator, at: plain)
                        default: try await handshakeBytes(&generator, at: secure)
                        }
                    } catch {
                        throw EdgeTestError("input \(input) of seed \(Self.seed): \(error)")
                    }
                }
            }
        }

        private func request(_ generator: inout SeededGenerator, at edge: Edge) async throws {
            let connection = try await edge.gateway.connect()
            connection.post(MalformedInput.request(&generator))
            try? await connection.finishSending()
            _ = try await connection.receiveToEnd(within: .seconds(30))
        }

        private func frames(_ generator: inout SeededGenerator, at edge: Edge) async throws {
            let socket = try await edge.gateway.open()
            socket.connection.post(MalformedInput.frames(&generator))
            try? await socket.connection.finishSending()
            _ = try await socket.connection.receiveToEnd(within: .seconds(30))
        }

        private func handshakeBytes(_ generator: inout SeededGenerator, at edge: Edge) async throws {
            let connection = try await RawConnection.open(port: edge.gateway.port)
            connection.post(MalformedInput.clientHello(&generator))
            try? await connection.finishSending()
            _ = try await connection.receiveToEnd(within: .seconds(30))
        }
    }
}
