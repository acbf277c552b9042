/// The limits that no attack may exceed.
enum AttackGoal: String, CaseIterable, Codable, Sendable {
    /// The 99th percentile of an honest session's echo, in microseconds.
    case echo
    /// The 99th percentile of a new client's time to the 101, in microseconds.
    case connect
    /// CPU seconds of the gateway per CPU second of the attackers.
    case amplification

    var limit: Double {
        switch self {
        case .echo: 50_000
        case .connect: 1_000_000
        case .amplification: 20
        }
    }

    /// A value beyond the limit by this factor can't be explained by a disturbance of the machine.
    static let clearFactor = 2.0
    /// The goals don't cover attacks that send more, or from more addresses.
    static let maximumBytesPerSecond = 1e6
    static let maximumAddresses = 256
    /// As a share of a core. An attack that causes less work than this doesn't harm the gateway, however cheap the attack is.
    static let minimumCores = 0.02

    enum Verdict: Hashable, Codable, Sendable {
        case met
        case missed
        /// Beyond the limit by the clear factor or more.
        case missedClearly
        case unknown
    }

    func verdict(_ measured: Double?) -> Verdict {
        guard let measured else { return .unknown }
        if measured <= limit { return .met }
        return measured < limit * Self.clearFactor ? .missed : .missedClearly
    }
}
