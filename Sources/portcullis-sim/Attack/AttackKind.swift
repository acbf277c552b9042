/// What one connection of an attack does.
enum AttackKind: String, CaseIterable, Sendable {
    /// Upgrades that are refused, one a connection, as they come.
    case upgrades
    /// TLS handshakes that stop in the middle.
    case handshakes
    /// A request's header, a byte each second.
    case headers
    /// WebSocket frames without end, on an upgrade that is admitted.
    case frames
    /// Requests for challenges, one after another on a connection.
    case challenges
    /// Requests that are refused, many at once on a connection that stays.
    case refusals

    var speaksTLS: Bool { self != .handshakes }

    /// The addresses that this kind comes from: 127.`net`.x.y, a few each, none of which an honest client has. 106 and 107 are those of the
    /// attackers in C.
    var net: Int {
        switch self {
        case .upgrades: 101
        case .handshakes: 102
        case .headers: 103
        case .frames: 104
        case .challenges: 105
        case .refusals: 108
        }
    }

    /// - Parameter addresses: of the kind; frames come from one alone.
    func source(of number: Int, addresses: Int) -> String {
        let index = self == .frames ? 1 : number % addresses + 1
        return "127.\(net).\(index >> 8).\(index & 255)"
    }
}

/// What an attack has done, and what it was answered.
struct AttackCounts: Sendable {
    var opened: UInt64 = 0
    var ended: UInt64 = 0
    /// Closed before TLS was up, or not accepted at all.
    var notOpened: UInt64 = 0
    /// Answers by their status.
    var answers: [Int: UInt64] = [:]
    var bytesSent: UInt64 = 0
    var bytesReceived: UInt64 = 0

    mutating func merge(_ other: AttackCounts) {
        opened += other.opened
        ended += other.ended
        notOpened += other.notOpened
        bytesSent += other.bytesSent
        bytesReceived += other.bytesReceived
        answers.merge(other.answers, uniquingKeysWith: +)
    }

    var text: String {
        let statuses = answers.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
        return ["\(opened) opened", "\(notOpened) not opened", "\(ended) ended", "\(bytesSent) B sent"]
            .joined(separator: ", ") + (statuses.isEmpty ? "" : "; answers: " + statuses.joined(separator: ", "))
    }
}
