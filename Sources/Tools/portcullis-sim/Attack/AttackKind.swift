/// The behaviour of one attacking connection.
enum AttackKind: String, CaseIterable, Sendable {
    /// Upgrades that are refused, one per connection, as fast as possible.
    case upgrades
    /// TLS handshakes that stop halfway.
    case handshakes
    /// A request's header, one byte per second.
    case headers
    /// Endless WebSocket frames on an admitted upgrade.
    case frames
    /// Requests for challenges, one after another on one connection.
    case challenges
    /// Refused requests, many at once on a connection that stays open.
    case refusals
    /// Sessions with a hostile MUD; the client only reads.
    case muds

    var speaksTLS: Bool { self != .handshakes }

    /// The source addresses of this kind: 127.`net`.x.y, a few for each kind, none of them used by an honest client.
    /// 106 and 107 belong to the attackers written in C.
    var net: Int {
        switch self {
        case .upgrades: 101
        case .handshakes: 102
        case .headers: 103
        case .frames: 104
        case .challenges: 105
        case .refusals: 108
        case .muds: 109
        }
    }

    /// An admitted upgrade, and then a WebSocket.
    var isAdmitted: Bool { self == .frames || self == .muds }

    func source(of number: Int, addresses: Int) -> String {
        let index = number % addresses + 1
        return "127.\(net).\(index >> 8).\(index & 255)"
    }
}

/// The actions of an attack and the answers to it.
struct AttackCounts: Sendable {
    var opened: UInt64 = 0
    var ended: UInt64 = 0
    /// Connections closed before TLS was up, or never accepted.
    var notOpened: UInt64 = 0
    /// Answers by status.
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
