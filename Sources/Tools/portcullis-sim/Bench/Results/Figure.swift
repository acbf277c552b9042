/// The quantity that a number measures.
enum Quantity: String, CaseIterable, Codable, Sendable {
    case cpuPerMessage
    case messagesPerSecond
    /// The measured process's share of one core.
    case coreLoad
    case latencyP50
    case latencyP99
    case cpuPerConnect
    case connectsPerSecond
    case cpuPerChallenge
    case cpuPerToken
    case cpuPerAuthorization
    case residentPerSession
    case allocationsPerMessage
    case systemCallsPerMessage

    var title: String {
        switch self {
        case .cpuPerMessage: "CPU per message"
        case .messagesPerSecond: "messages per second"
        case .coreLoad: "load of the core"
        case .latencyP50: "latency, median"
        case .latencyP99: "latency, 99th percentile"
        case .cpuPerConnect: "CPU per connect"
        case .connectsPerSecond: "connects per second"
        case .cpuPerChallenge: "CPU per challenge"
        case .cpuPerToken: "CPU per access token"
        case .cpuPerAuthorization: "CPU per request to /authz"
        case .residentPerSession: "resident memory per idle session"
        case .allocationsPerMessage: "allocations per message"
        case .systemCallsPerMessage: "system calls per message"
        }
    }

    var unit: String {
        switch self {
        case .cpuPerMessage, .latencyP50, .latencyP99, .cpuPerConnect, .cpuPerChallenge, .cpuPerToken,
            .cpuPerAuthorization:
            "µs"
        case .messagesPerSecond, .connectsPerSecond: "1/s"
        case .coreLoad: "%"
        case .residentPerSession: "KiB"
        case .allocationsPerMessage, .systemCallsPerMessage: "1"
        }
    }
}

/// The identity of one number: quantity, subject and workload.
struct Figure: Hashable, Codable, Sendable {
    let quantity: Quantity
    let subject: Subject
    /// The workload, in words: see ``Cell``.
    let cell: String
}

/// The measured workloads, in words.
enum Cell {
    static let latency = "64 B, 100 connections, 20 messages a second each"
    static let gated = "gated: challenge, assertion, TLS, 101"
    static let withToken = "gated: access token, proof, TLS, 101"
    static let ungated = "the same without the gate"
    static let challenge = "challenges, 16 connections"
    static let token = "challenge, assertion, proof, access token, 16 connections"
    static let signIn = "options, passkey (ES256), proof, access token, 16 connections"
    static let signInWithDatabase = "the same with PostgreSQL"
    static let signInAtMaximum = "the same with a file, with all families of the account begun: one ends"
    static let refresh = "refresh token, proof, next pair, 16 connections"
    static let refreshWithDatabase = "refresh with PostgreSQL"
    static let refreshAmongMany = "refresh, one at a time, 100,000 families in the file"
    static let disk = "the disk alone: three pages and a flush, one at a time"
    static let authorization = "access token and proof on /authz, 768 devices"
    /// - Parameter recipe: 1: the body is sent.
    static func signed(recipe: Int, bytes: Int) -> String {
        "signed request on /authz, recipe \(recipe), \(bytes / 1_024) KiB of body, 64 devices"
    }
    static let idle = "idle wss sessions"
    static let oneReactor = "one reactor, CPU-bound"
    static let twoReactors = "two reactors, CPU-bound"

    /// - Parameter isBurst: the whole window is sent at once; otherwise each answer triggers the next message.
    static func flood(bytes: Int, clients: Int, window: Int, isBurst: Bool = false) -> String {
        let size = bytes < 1_024 ? "\(bytes) B" : "\(bytes / 1_024) KiB"
        let way = isBurst ? "sent together" : "in flight"
        return "\(size), \(clients) connection\(clients == 1 ? "" : "s"), \(window) \(way)"
    }

    /// - Parameter idle: the number of additional idle sessions.
    static func busy(clients: Int, idle: Int) -> String {
        flood(bytes: 64, clients: clients, window: 1) + (idle == 0 ? ", alone" : ", beside \(idle) idle")
    }
}

/// The distribution of a figure over the rounds.
struct Spread: Hashable, Codable, Sendable {
    let median, least, most: Double
    let rounds: Int

    /// - Returns: nil for no values.
    init?(_ values: [Double]) {
        let sorted = values.filter(\.isFinite).sorted()
        guard let least = sorted.first, let most = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        self.least = least
        self.most = most
        rounds = sorted.count
    }
}
