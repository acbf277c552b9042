import AppAttest
import EdgeTestKit
import Foundation
import PortcullisClient
import PortcullisClientNIO
import SettingsTestKit
import Testing

extension EdgeTests {
    /// The client library with four gateways of a fleet, the real PostgreSQL, and something that spreads connections
    /// over them.
    @Suite struct ClientLibraryFleetTests {
        private struct House {
            let fleet: FleetBench
            let gateways: [GatewayProcess]
            let relay: RotatingRelay
            let client: GateClient

            init() async throws {
                fleet = try await FleetBench(target: .echo)
                let files = try FleetCertificates()
                var gateways: [GatewayProcess] = []
                for number in 0..<4 {
                    let settings = try files.listening(fleet.settings, as: "gateway\(number)")
                    gateways.append(try await fleet.gateway { _ in settings })
                }
                self.gateways = gateways
                relay = try await RotatingRelay.start(to: gateways.map(\.port))
                var configuration = try GateConfiguration(
                    baseURLString: "http://127.0.0.1:\(relay.port)", teamIdentifier: fleet.apple.app.teamID,
                    bundleIdentifier: fleet.apple.app.bundleID)
                configuration.reconnection.firstDelay = 0.2
                let keys = SimulatedKeys(keys: SimulatedKeyService(apple: fleet.apple))
                client = GateClient(
                    configuration: configuration,
                    platform: ClientPlatform(transport: try NIOTransport(), appAttest: keys))
            }

            /// The one that has admitted the client last.
            func holder() throws -> GatewayProcess {
                let found = gateways.filter { gateway in
                    gateway.child.output.current.ending == nil
                        && gateway.output.errorLines.contains {
                            $0.contains("upgrade") && $0.contains("outcome=admitted")
                        }
                }
                return try #require(found.last)
            }
        }

        private struct SimulatedKeys: AppAttestService {
            let keys: SimulatedKeyService

            var isSupported: Bool { true }
            func generateKey() async throws -> String { try await keys.generateKey() }
            func attestKey(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
                try await keys.attestKey(keyIdentifier, clientDataHash: clientDataHash)
            }
            func generateAssertion(_ keyIdentifier: String, clientDataHash: Data) async throws -> Data {
                try await keys.generateAssertion(keyIdentifier, clientDataHash: clientDataHash)
            }
        }

        /// What a connection has told so far.
        private struct Told: Sendable {
            var text = ""
            var connections = 0
            var delivered: [InputNumber] = []
            var end: ConnectionEnd?
        }

        private func listen(to connection: GatedConnection) -> (told: Awaited<Told>, reading: Task<Void, Never>) {
            let told = Awaited(Told())
            let reading = Task {
                for await event in connection {
                    told.update { told in
                        switch event {
                        case .output(let output): told.text += output.text
                        case .state(.connected): told.connections += 1
                        case .state(.ended(let end)): told.end = end
                        case .input(.delivered(let number)): told.delivered.append(number)
                        default: break
                        }
                    }
                }
            }
            return (told, reading)
        }

        @Test func `a session is resumed through any gateway, and its target sees each input once`() async throws {
            let house = try await House()
            let connection = house.client.connect(ConnectionOptions(.assertion))
            let (told, reading) = listen(to: connection)
            defer { reading.cancel() }
            for round in 1...8 {
                try await told.wait(for: "connection \(round)", within: .seconds(60)) {
                    $0.connections == round ? () : nil
                }
                let number = try await connection.send("round \(round)")
                try await told.wait(for: "the echo of \(round)") { told in
                    told.text.contains("round \(round)") && told.delivered.contains(number) ? () : nil
                }
                await house.relay.cut()
            }
            try await told.wait(for: "the last connection", within: .seconds(60)) { $0.connections == 9 ? () : nil }
            let expected = (1...8).map { "round \($0)\r\n" }.joined()
            #expect(told.current.text == expected && house.fleet.target.connectionCount == 1)
            await connection.close()
        }

        @Test func `the death of the session's gateway is told, and the next session plays elsewhere`() async throws {
            let house = try await House()
            let first = house.client.connect(ConnectionOptions(.assertion))
            let (told, reading) = listen(to: first)
            defer { reading.cancel() }
            try await first.send("here")
            try await told.wait(for: "the echo") { $0.text.contains("here") ? () : nil }
            try await house.holder().killNow()
            let end = try await told.wait(for: "the end", within: .seconds(60)) { $0.end }
            #expect(end.cause == .sessionExpired && end.action == .connectAgain)
            let second = house.client.connect(ConnectionOptions(.assertion))
            let (again, listening) = listen(to: second)
            defer { listening.cancel() }
            let number = try await second.send("there")
            try await again.wait(for: "the echo") {
                $0.text.contains("there") && $0.delivered.contains(number) ? () : nil
            }
            #expect(again.current.connections == 1)
        }
    }
}
