/// The result of one attack: the figures of the table and their verdicts.
struct AttackRow: Hashable, Codable, Sendable {
    /// In microseconds.
    struct Latency: Hashable, Codable, Sendable {
        let p50, p99: Double
        let count: UInt64

        init?(_ summary: LatencySummary?) {
            guard let summary else { return nil }
            (p50, p99, count) = (summary.p50, summary.p99, summary.count)
        }
    }

    let name, what: String
    let addresses: Int
    let echo, connect: Latency?
    /// The duration of the measurement.
    let seconds: Double
    /// CPU time in that period: the gateway's, without the share of the honest clients, and the attackers'.
    let gatewayCPUSeconds, attackerCPUSeconds: Double
    let amplification: Double?
    let attackerBytesPerSecond: Double
    /// CPU time of the gateway for 64 KiB of the attackers'; nil if they sent nothing.
    let millisecondsPerText: Double?
    let logBytes, auditBytes: UInt64
    let residentBytesHighest: UInt64
    let verdicts: [String: AttackGoal.Verdict]
    /// The goals that don't cover an attack of this size.
    let unjudged: [String]
    /// Losses and refusals of honest clients.
    let complaints: [String]

    /// - Parameter quiet: the trial with only honest clients.
    init(_ trial: AttackTrial, quiet: AttackTrial) {
        let facts = trial.facts
        (name, what, addresses) = (facts.name, facts.what, facts.addresses)
        (logBytes, auditBytes) = (facts.logBytes, facts.auditBytes)
        echo = Latency(trial.echo?.traffic.latencyMicroseconds)
        connect = Latency(trial.connect?.connects.latencyMicroseconds)
        seconds = trial.echo?.seconds ?? 0
        let gatewayCores = max(trial.gatewayCores - (trial.attackers.isEmpty ? 0 : quiet.gatewayCores), 0)
        let attackerCores = trial.attackers.reduce(0) { $0 + $1.cores }
        gatewayCPUSeconds = gatewayCores * seconds
        attackerCPUSeconds = attackerCores * seconds
        amplification =
            gatewayCores >= AttackGoal.minimumCores && attackerCores > 0 ? gatewayCores / attackerCores : nil
        attackerBytesPerSecond = trial.attackers.reduce(0) { $0 + $1.bytesPerSecond }
        let texts = attackerBytesPerSecond / AttackGoal.textBytes
        millisecondsPerText = trial.echo != nil && texts > 0 ? gatewayCores * 1_000 / texts : nil
        residentBytesHighest = trial.echo?.gatewayProcess?.residentBytesHighest ?? 0

        let isLarge =
            attackerBytesPerSecond >= AttackGoal.maximumBytesPerSecond || addresses > AttackGoal.maximumAddresses
        unjudged = AttackGoal.allCases.filter { !$0.covers(facts, isLarge: isLarge) }.map(\.rawValue)
        let isSlight = trial.echo != nil && amplification == nil
        verdicts = [
            AttackGoal.echo.rawValue: AttackGoal.echo.verdict(echo?.p99),
            AttackGoal.median.rawValue: AttackGoal.median.verdict(echo?.p50),
            AttackGoal.connect.rawValue: AttackGoal.connect.verdict(connect?.p99),
            AttackGoal.amplification.rawValue: isSlight ? .met : AttackGoal.amplification.verdict(amplification),
            AttackGoal.text.rawValue: AttackGoal.text.verdict(millisecondsPerText),
        ]
        complaints = trial.complaints(countingConnects: !isLarge || facts.isUnnoticed)
    }

    /// False if a covered goal is missed clearly or its value is unknown, which fails the trial.
    var isGood: Bool {
        complaints.isEmpty
            && verdicts.allSatisfy { name, verdict in
                unjudged.contains(name) || verdict == .met || verdict == .missed
            }
    }

    func verdict(_ goal: AttackGoal) -> AttackGoal.Verdict { verdicts[goal.rawValue] ?? .unknown }
}

extension AttackTrial {
    /// The gateway's share of a core while the honest clients were measured.
    fileprivate var gatewayCores: Double {
        guard let echo, let process = echo.gatewayProcess, echo.seconds > 0 else { return 0 }
        return process.cpuSeconds / echo.seconds
    }

    /// - Parameter countingConnects: whether refusals of new clients count. Losses of established sessions always
    ///   count.
    fileprivate func complaints(countingConnects: Bool) -> [String] {
        var complaints = facts.isGatewayAlive ? [] : ["the gateway has died"]
        let reports = [("echo", echo, true), ("flap", flap, hasFlapping), ("connect", connect, countingConnects)]
        for (name, report, isCounted) in reports where isCounted {
            guard let report else {
                complaints.append("\(name): no report")
                continue
            }
            complaints += report.errors.sorted { $0.key < $1.key }.map { "\(name): \($0.value) × \($0.key)" }
        }
        return complaints
    }
}

/// The limits that no attack may exceed.
enum AttackGoal: String, CaseIterable, Codable, Sendable {
    /// The 99th percentile of an honest session's echo, in microseconds.
    case echo
    /// The median of the same, for attacks that honest clients must not notice.
    case median
    /// The 99th percentile of a new client's time to the 101, in microseconds.
    case connect
    /// CPU seconds of the gateway per CPU second of the attackers.
    case amplification
    /// CPU milliseconds of the gateway for 64 KiB of hostile text.
    case text

    var limit: Double {
        switch self {
        case .echo: 50_000
        case .median: 5_000
        case .connect: 1_000_000
        case .amplification: 20
        case .text: 20
        }
    }

    /// - Parameter isLarge: the attack is larger than the goals' conditions.
    func covers(_ facts: AttackTrial.Facts, isLarge: Bool) -> Bool {
        switch self {
        case .echo: !isLarge || facts.isEchoAlwaysJudged || facts.isUnnoticed
        case .median: facts.isUnnoticed
        case .connect: !isLarge || facts.isUnnoticed
        case .amplification: !isLarge
        case .text: facts.name.hasPrefix("text")
        }
    }

    static let textBytes = 65_536.0
    /// A value beyond the limit by this factor can't be explained by a disturbance of the machine.
    static let clearFactor = 2.0
    /// The goals don't cover attacks that send more, or from more addresses.
    static let maximumBytesPerSecond = 1e6
    static let maximumAddresses = 256
    /// As a share of a core. An attack that causes less work than this doesn't harm the gateway, however cheap the
    /// attack is.
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
