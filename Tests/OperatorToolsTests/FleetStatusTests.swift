import Foundation
import KeyStore
import KeyStorePostgreSQL
import Testing

@testable import OperatorTools

@Suite("The status of a fleet")
struct FleetStatusTests {
    private static let now: Int64 = 1_000_000

    private func member(
        _ name: String, age: Int64 = 500, _ report: GatewayMember.Report = .init(sessions: 3, connections: 4, lag: 20)
    ) -> GatewayMember {
        GatewayMember(
            id: "0123456789abcdef" + name, name: name, version: "0.1.0", schema: 2, started: Self.now - 7_200_000,
            heartbeat: Self.now - age, report: report)
    }

    private func status(_ members: [GatewayMember], isPrimary: Bool = true) -> FleetStatus {
        FleetStatus(
            FleetOverview(
                members: GatewayMembers(members, readAt: Self.now, began: 0), server: "15.14", isPrimary: isPrimary,
                incarnation: [0xAB, 0xCD, 0xEF, 0x01, 0x23], schema: 2, oldestProgram: 1, connections: 9,
                maximumConnections: 100),
            database: "postgresql://portcullis@db/portcullis")
    }

    @Test func `is good while gateways serve and none is dead or behind`() {
        let one = member("mud1:6200")
        #expect(status([one]).isGood)
        #expect(status([one, member("mud2:6200", .init(state: .draining, lag: FleetStatus.longestLag))]).isGood)
    }

    @Test func `names what needs attention`() {
        let one = member("mud1:6200")
        let cases: [([GatewayMember], String)] = [
            ([one, member("mud2:6200", age: GatewayMembers.deadAfter + 1)], "mud2:6200 is dead: no heartbeat for 5 s"),
            (
                [one, member("mud2:6200", .init(lag: FleetStatus.longestLag + 1))],
                "mud2:6200 hasn't heard of the database's changes for 2001 ms"
            ),
            ([one, member("mud2:6200", .init())], "mud2:6200 hasn't heard of the database's changes yet"),
            ([], "no gateway serves"),
            ([member("mud1:6200", .init(state: .leaving, lag: 1))], "no gateway serves"),
        ]
        for (members, problem) in cases { #expect(status(members).problems == [problem]) }
        #expect(status([], isPrimary: false).problems == ["the database is a standby", "no gateway serves"])
    }

    @Test func `as text has a line for each gateway, by name`() {
        let dead = member("mud2:6200", age: 6_000, .init(sessions: 1, connections: 1, lag: 5, address: "10.0.0.2:6210"))
        let lines = status([dead, member("mud1:6200")]).text.split(separator: "\n").map(String.init)
        #expect(lines.count == 5)
        #expect(lines[0].hasPrefix("GATEWAY    STATE    SESSIONS  CONNECTIONS  LAG   HEARTBEAT  UP"))
        #expect(lines[1].hasPrefix("mud1:6200  serving  3         4            20ms  500ms      2h00m"))
        #expect(lines[2].hasPrefix("mud2:6200  dead     1") && lines[2].contains("10.0.0.2:6210"))
        let database =
            "PostgreSQL 15.14, primary, incarnation abcdef01, schema 2 for programs from 1, 9 of 100 connections"
        #expect(lines[3] == "database: postgresql://portcullis@db/portcullis, \(database)")
        #expect(lines[4] == "attention: mud2:6200 is dead: no heartbeat for 6 s")
    }

    @Test func `escapes what a gateway says of itself`() {
        let odd = member("mud\u{1B}[2J\n:6200")
        #expect(status([odd]).text.unicodeScalars.allSatisfy { $0 == "\n" || $0.isASCII && $0.value >= 0x20 })
        #expect(!status([odd]).json.contains("\n"))
    }

    @Test func `as JSON is one object`() throws {
        struct Answer: Decodable {
            struct Gateway: Decodable {
                let id, name, state, version: String
                let schema, sessions, connections, heartbeatAgeMs, uptimeMs: Int
                let lagMs: Int?
                let address: String?
            }
            struct Database: Decodable { let name, serverVersion, role, incarnation: String }
            let good: Bool
            let problems: [String]
            let gateways: [Gateway]
            let database: Database
        }
        let json = status([member("b"), member("a", .init(state: .draining))]).json
        let answer = try JSONDecoder().decode(Answer.self, from: Data(json.utf8))
        #expect(!answer.good && answer.problems.count == 1)
        #expect(answer.gateways.map(\.name) == ["a", "b"] && answer.gateways.map(\.state) == ["draining", "serving"])
        #expect(answer.gateways.map(\.lagMs) == [nil, 20] && answer.gateways[1].sessions == 3)
        #expect(answer.gateways[1].heartbeatAgeMs == 500 && answer.gateways[1].uptimeMs == 7_200_000)
        #expect(answer.database.role == "primary" && answer.database.incarnation == "abcdef01")
    }
}
