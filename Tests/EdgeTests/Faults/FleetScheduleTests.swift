import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

/// Faults of a fleet, one after another, while players come and go: every session is alive at its gateway and can be
/// resumed, or is gone and its player was told; no byte is lost or doubled; nothing is admitted twice.
struct FaultSchedule {
    let fleet: FaultFleet
    let players: [FaultPlayer]

    /// - Parameters:
    ///   - patience: from the end of a fault until every player has his answer.
    ///   - program: of the gateways; nil: the one that was built.
    init(gateways: Int, players count: Int, within patience: Duration, of program: String? = nil) async throws {
        fleet = try await FaultFleet(gateways: gateways, of: program)
        var players: [FaultPlayer] = []
        for number in 0..<count {
            let player = try await FaultPlayer("p\(number)", in: fleet, within: patience)
            try await player.begin()
            players.append(player)
        }
        self.players = players
    }

    /// - Parameter fault: nil: nothing happens but the players' coming and going.
    func play(_ fault: FleetFault? = nil) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if let fault { group.addTask { try await fleet.suffer(fault) } }
            for player in players { group.addTask { try await player.say(3) } }
            try await group.waitForAll()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for player in players { group.addTask { try await player.roam() } }
            try await group.waitForAll()
        }
        for player in players { try await player.repeatAll() }
    }

    var counts: (resumed: Int, expired: Int) {
        get async {
            var (resumed, expired) = (0, 0)
            for player in players { (resumed, expired) = await (resumed + player.resumed, expired + player.expired) }
            return (resumed, expired)
        }
    }
}

extension EdgeTests {
    @Suite struct FleetScheduleTests {
        /// Beside thousands of other tests each step may take long.
        @Test func `after a killed backend a dead gateway is noticed, and sessions that live go on`() async throws {
            let schedule = try await FaultSchedule(gateways: 3, players: 6, within: .seconds(30))
            for fault in [FleetFault.killedBackend, .killedGateway(1), .cutLink(0, seconds: 7), .failover, .upgrade(2)]
            {
                try await schedule.play(fault)
            }
            let (resumed, expired) = await schedule.counts
            // Some were at the gateway that was killed at most, and everybody has come back after each of the other
            // faults.
            #expect(resumed >= 4 * schedule.players.count && expired <= schedule.players.count)
        }
    }
}

/// As long as `PORTCULLIS_FAULT_SECONDS` says, on a machine with nothing else to do; `PORTCULLIS_FAULT_SEED` repeats a
/// schedule.
@Suite(
    .enabled(if: FaultSettings.seconds != nil, "PORTCULLIS_FAULT_SECONDS isn't set"), .timeLimit(.minutes(120)))
struct RandomScheduleTests {
    @Test func `a fleet survives faults in any order`() async throws {
        let seed = FaultSettings.seed ?? UInt64.random(in: 0...999_999)
        print("PORTCULLIS_FAULT_SEED=\(seed)")
        var generator = SeededGenerator(seed: seed)
        let schedule = try await FaultSchedule(gateways: 4, players: 12, within: .seconds(8))
        let end = ContinuousClock.now + .seconds(FaultSettings.seconds ?? 0)
        var count = 0
        while ContinuousClock.now < end {
            let fault = FleetFault.random(gateways: 4, using: &generator)
            count += 1
            print("fault \(count): \(fault)")
            try await schedule.play(fault)
        }
        let (resumed, expired) = await schedule.counts
        print("\(count) faults: \(resumed) sessions resumed, \(expired) lost with their gateways")
    }
}

/// `PORTCULLIS_EARLIER` is the program of the version before, built in another folder.
@Suite(
    .enabled(if: FaultSettings.earlier != nil, "PORTCULLIS_EARLIER isn't set"), .timeLimit(.minutes(20)))
struct NeighbouringVersionsTests {
    @Test func `gateways of two versions are one fleet`() async throws {
        let schedule = try await FaultSchedule(
            gateways: 4, players: 12, within: .seconds(20), of: FaultSettings.earlier)
        for _ in 0..<3 { try await schedule.play() }
        try await schedule.fleet.goOn()
        for _ in 0..<3 { try await schedule.play() }
        for index in 0..<4 {
            try await schedule.play(.killedGateway(index))
            for _ in 0..<3 { try await schedule.play() }
        }
        let (resumed, expired) = await schedule.counts
        print("\(resumed) sessions resumed, \(expired) lost with their gateways")
    }
}

enum FaultSettings {
    private static let environment = ProcessInfo.processInfo.environment
    static let seconds = environment["PORTCULLIS_FAULT_SECONDS"].flatMap { Int($0) }
    static let earlier = environment["PORTCULLIS_EARLIER"]
    static let seed = environment["PORTCULLIS_FAULT_SEED"].flatMap { UInt64($0) }
}
