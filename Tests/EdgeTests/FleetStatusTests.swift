import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// `portcullis fleet status`, and the heartbeats of gateways.
    @Suite struct FleetStatusTests {
        @Test func `shows who serves, who is dead and who drains`() async throws {
            let fleet = try await FleetBench()
            let settings = fleet.settings.setting("SHUTDOWN_GRACE_MS", 600_000)
                .setting("SHUTDOWN_DEADLINE_MS", 3_600_000)
            let gateways = [try await GatewayProcess.start(settings), try await GatewayProcess.start(settings)]
            let device = try await fleet.apple.enrolledDevice(at: gateways[1])
            let socket = try await gateways[1].open(device.handshake(at: gateways[1]))
            var answer = try await fleet.status { answer in
                answer.ending == .exited(0) && answer.states(gateways) == ["serving", "serving"]
                    && answer.gateway(gateways[1])?.sessions == 1
            }
            #expect(answer.problems.isEmpty && answer.database.role == "primary")
            #expect(answer.gateway(gateways[0])?.sessions == 0)
            #expect(answer.gateways.allSatisfy { $0.lagMs != nil && $0.heartbeatAgeMs < 5_000 }, "\(answer)")

            try await gateways[0].killNow()
            answer = try await fleet.status { $0.states(gateways) == ["dead", "serving"] }
            #expect(answer.ending == .exited(2) && answer.problems.count == 1, "\(answer)")
            try await gateways[1].errorLine("a gateway of the fleet is silent", ":\(gateways[0].port)")
            let text = try await GatewayProcess.run(["fleet", "status"], fleet.settings)
            #expect(text.ending == .exited(2) && text.outputText.contains("attention: "), "\(text)")

            gateways[1].terminate()
            answer = try await fleet.status { $0.states(gateways) == ["dead", "draining"] }
            #expect(answer.problems.contains("no gateway serves"), "\(answer)")
            try await Edge.expectEcho(socket)
            try await socket.close()
            #expect(try await gateways[1].child.ended().ending == .exited(0))
            answer = try await fleet.status { _ in true }
            #expect(answer.states(gateways) == ["dead", nil], "\(answer)")
        }

        @Test func `gateways are back after a crash of the database`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateways = try await fleet.gateways(2)
            let before = try await fleet.status { $0.states(gateways) == ["serving", "serving"] }
            try await server.crash()
            let down = try await GatewayProcess.run(["fleet", "status"], fleet.settings)
            #expect(down.ending == .exited(1) && down.errorText.contains("can't be used"), "\(down)")
            try await server.start()
            let after = try await fleet.status { $0.states(gateways) == ["serving", "serving"] && $0.problems.isEmpty }
            #expect(after.database.incarnation != before.database.incarnation)
            #expect(after.gateways.map(\.id).sorted() == before.gateways.map(\.id).sorted())
        }

        @Test func `says what is missing`() async throws {
            let alone = try await GatewayProcess.run(["fleet", "status"], GatewaySettings(targetPort: 9))
            #expect(alone.ending == .exited(1) && alone.errorText.contains("STORE_URL isn't set"), "\(alone)")
            let empty = try await FleetBench(migrates: false)
            let output = try await GatewayProcess.run(["fleet", "status"], empty.settings)
            #expect(output.ending == .exited(1) && output.errorText.contains("portcullis store migrate"), "\(output)")
        }
    }
}

/// What `portcullis fleet status --json` says.
struct FleetStatusAnswer: Decodable {
    struct Gateway: Decodable {
        let id, name, state: String
        let sessions, heartbeatAgeMs: Int
        let lagMs: Int?
    }

    struct Database: Decodable {
        let role: String
        let incarnation: String?
    }

    let problems: [String]
    let gateways: [Gateway]
    let database: Database
    var ending: ChildOutput.Ending?

    private enum CodingKeys: CodingKey { case problems, gateways, database }

    func gateway(_ process: GatewayProcess) -> Gateway? { gateways.first { $0.name.hasSuffix(":\(process.port)") } }

    func states(_ processes: [GatewayProcess]) -> [String?] { processes.map { gateway($0)?.state } }
}

extension FleetBench {
    /// Asks until the answer is as expected.
    func status(
        within limit: Duration = .seconds(30), _ isExpected: (FleetStatusAnswer) -> Bool
    ) async throws -> FleetStatusAnswer {
        try await Poll.until("the expected status", within: limit) {
            let output = try await GatewayProcess.run(["fleet", "status", "--json"], settings)
            guard var answer = try? JSONDecoder().decode(FleetStatusAnswer.self, from: Data(output.standardOutput))
            else { return nil }
            answer.ending = output.ending
            return isExpected(answer) ? answer : nil
        }
    }
}
