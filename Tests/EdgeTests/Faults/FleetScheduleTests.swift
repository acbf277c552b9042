import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Faults of a fleet, one after another, while players come and go: every session is alive at its gateway and can be resumed, or is gone and its player was told; no
    /// byte is lost or doubled; nothing is admitted twice.
    ///
    /// `PORTCULLIS_FAULT_SECONDS` is how long the random schedule goes on, and `PORTCULLIS_FAULT_SEED` repeats one.
    @Suite struct FleetScheduleTests {
        private static let environment = ProcessInfo.processInfo.environment
        private static let seconds = environment["PORTCULLIS_FAULT_SECONDS"].flatMap { Int($0) }

        /// Beside thousands of other tests each step may take long.
        private static let patience = Duration.seconds(seconds == nil ? 30 : 8)

        private func play(_ fleet: FaultFleet, _ players: [FaultPlayer], _ faults: [FleetFault]) async throws {
            for fault in faults {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await fleet.suffer(fault) }
                    for player in players { group.addTask { try await player.say(3) } }
                    try await group.waitForAll()
                }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for player in players { group.addTask { try await player.roam() } }
                    try await group.waitForAll()
                }
            }
            for player in players { try await player.repeatAll() }
        }

        private func players(_ count: Int, in fleet: FaultFleet) async throws -> [FaultPlayer] {
            var players: [FaultPlayer] = []
            for number in 0..<count {
                let player = try await FaultPlayer("p\(number)", in: fleet, within: Self.patience)
                try await player.begin()
                players.append(player)
            }
            return players
        }

        @Test func `after a killed backend a dead gateway is noticed, and sessions that live go on`() async throws {
            let fleet = try await FaultFleet(gateways: 3)
            let players = try await players(6, in: fleet)
            try await play(fleet, players, [.killedBackend, .killedGateway(1), .cutLink(0, seconds: 7), .upgrade(2)])
            var (resumed, expired) = (0, 0)
            for player in players { (resumed, expired) = await (resumed + player.resumed, expired + player.expired) }
            #expect(resumed >= players.count)
            // Not all can have been at one gateway, nor none.
            #expect(expired <= players.count)
        }

        @Test(.enabled(if: seconds != nil, "PORTCULLIS_FAULT_SECONDS isn't set"))
        func `a random schedule`() async throws {
            let seed =
                Self.environment["PORTCULLIS_FAULT_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
            print("PORTCULLIS_FAULT_SEED=\(seed)")
            var generator = SeededGenerator(seed: seed)
            let fleet = try await FaultFleet(gateways: 4)
            let players = try await players(12, in: fleet)
            let end = ContinuousClock.now + .seconds(Self.seconds ?? 0)
            while ContinuousClock.now < end {
                let fault = FleetFault.random(gateways: 4, using: &generator)
                print("fault: \(fault)")
                try await play(fleet, players, [fault])
            }
        }
    }
}
