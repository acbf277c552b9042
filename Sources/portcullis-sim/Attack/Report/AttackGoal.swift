/// What no attack may reach.
enum AttackGoal: String, CaseIterable, Codable, Sendable {
    /// The 99th percentile of an honest session's echo, in microseconds.
    case echo
    /// The 99th percentile of a new client's way to the 101, in microseconds.
    case connect
    /// CPU seconds of the gateway for one of the attackers.
    case amplification

    var limit: Double {
        switch self {
        case .echo: 50_000
        case .connect: 1_000_000
        case .amplification: 20
        }
    }

    /// Beyond the limit by this factor no disturbance of the machine explains it.
    static let clearFactor = 2.0
    /// An attack that sends more, or from more addresses, is no matter of the goals.
    static let maximumBytesPerSecond = 1e6
    static let maximumAddresses = 256
    /// Of a core. A gateway that works less for an attack isn't harmed by it, however little the attack costs.
    static let minimumCores = 0.02

    enum Verdict: Hashable, Codable, Sendable {
        case met
        case missed
        /// By the clear factor or more.
        case missedClearly
        case unknown
    }

    func verdict(_ measured: Double?) -> Verdict {
        guard let measured else { return .unknown }
        if measured <= limit { return .met }
        return measured < limit * Self.clearFactor ? .missed : .missedClearly
    }
}
