/// All numbers of a benchmark, by round.
struct BenchResults: Sendable {
    private(set) var rounds: [Figure: [Int: Double]] = [:]
    /// Failures, and remarks needed to interpret the numbers.
    private(set) var notes: [String] = []
    /// In the order of measurement.
    private(set) var cells: [String] = []

    mutating func record(_ value: Double?, _ quantity: Quantity, of subject: Subject, _ cell: String, round: Int = 0) {
        guard let value, value.isFinite else { return }
        if !cells.contains(cell) { cells.append(cell) }
        rounds[Figure(quantity: quantity, subject: subject, cell: cell), default: [:]][round] = value
    }

    mutating func note(_ text: String) {
        if !notes.contains(text) { notes.append(text) }
    }

    func spread(_ quantity: Quantity, of subject: Subject, _ cell: String) -> Spread? {
        Spread(Array(values(quantity, subject, cell).values))
    }

    /// The ratio of two figures, computed per round: a disturbance in a round affects both.
    func ratio(
        _ quantity: Quantity, of subject: Subject, _ cell: String, to other: Subject, _ otherCell: String? = nil
    ) -> Spread? {
        let divisors = values(quantity, other, otherCell ?? cell)
        return Spread(
            values(quantity, subject, cell).compactMap { round, value in
                divisors[round].flatMap { $0 > 0 ? value / $0 : nil }
            })
    }

    private func values(_ quantity: Quantity, _ subject: Subject, _ cell: String) -> [Int: Double] {
        rounds[Figure(quantity: quantity, subject: subject, cell: cell)] ?? [:]
    }
}

/// The servers that are compared.
enum Subject: String, CaseIterable, Codable, Sendable {
    case portcullis
    /// The gateway with the session layer and all limits on.
    case portcullisTyped
    /// Another build of the gateway, for comparison.
    case earlier
    /// A bare relay in C that queues each message.
    case floor
    /// The same relay, but it writes at once.
    case floorAtOnce
    /// TLS to TCP, without WebSocket.
    case haproxy
    case websocat
    case websockify

    /// The benchmark fails without these.
    static let required: Set<Subject> = [.portcullis, .portcullisTyped, .earlier, .floor, .floorAtOnce]

    var title: String {
        switch self {
        case .portcullis: "Portcullis"
        case .portcullisTyped: "Portcullis, typed, all limits"
        case .earlier: "Portcullis, the other build"
        case .floor: "C floor"
        case .floorAtOnce: "C floor, writing at once"
        case .haproxy: "HAProxy (TLS to TCP)"
        case .websocat: "websocat"
        case .websockify: "websockify (Python)"
        }
    }
}
