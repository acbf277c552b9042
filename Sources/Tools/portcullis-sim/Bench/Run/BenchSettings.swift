import Foundation

/// The environment of a benchmark: programs, folders and cores.
struct BenchSettings: Sendable {
    /// A PostgreSQL server with a fleet's tables.
    struct Database: Sendable {
        /// `STORE_URL`
        let url: String
        /// `STORE_SECRETS_KEY_PATH`
        let keyPath: String
        let pid: Int32
    }

    var gateway: String
    /// Another build of the gateway.
    var earlier: String?
    /// This program.
    var tool: String
    var floor: String?
    /// Counts allocations and system calls when it is preloaded.
    var allocationCounter: String?
    var peers: [Subject: String]
    /// nil: PostgreSQL isn't installed.
    var database: Database?
    var certificates: String
    /// For files that are needed only during the run.
    var folder: String
    var plan: BenchPlan
    var coreCount = ProcessInfo.processInfo.activeProcessorCount

    /// The measured process has this core to itself; load and target share the other.
    var measuredCore: [Int] { [0] }
    var loadCore: [Int] { [1] }

    func has(_ subject: Subject) -> Bool {
        switch subject {
        case .portcullis, .portcullisTyped: true
        case .earlier: earlier != nil
        case .floor, .floorAtOnce: floor != nil
        case .haproxy, .websocat, .websockify: peers[subject] != nil
        }
    }
}

/// The duration and the repetitions.
struct BenchPlan: Sendable {
    /// Rounds of the measurements on which goals depend.
    var rounds: Int
    /// Rounds of the other measurements.
    var furtherRounds: Int
    var seconds: Double
    var warmUpSeconds: Double
    /// The total time for repeating disturbed runs.
    var repeatSeconds: Double
    var idleSessions = 9_000
    /// Peers are measured in all workloads, not only in those named by a goal.
    var isFull: Bool

    static let quick = BenchPlan(
        rounds: 5, furtherRounds: 1, seconds: 1, warmUpSeconds: 0.4, repeatSeconds: 60, isFull: false)
    static let full = BenchPlan(
        rounds: 9, furtherRounds: 3, seconds: 2, warmUpSeconds: 0.6, repeatSeconds: 300, isFull: true)
}
