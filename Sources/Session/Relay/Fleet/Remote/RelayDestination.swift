import Reactors

/// Where the gateway is that has a client's session.
struct RelayDestination: Sendable {
    /// As in its certificate: a name, or a numeric address.
    var host: String
    var port: UInt16
    var tls: TargetTLS
    var limits: RelayLimits
}

package struct RelayLimits: Sendable, Hashable {
    /// For finding the other gateway and connecting to it. The handshake and the answer have limits of their own.
    package var dialMilliseconds = 4_000
    /// In each direction: above it the other side isn't read.
    package var queueBytes = 65_536
    /// Without a byte from the other gateway, which sends pings to its clients, or to a client for which some wait: it
    /// is cut off then.
    package var idleSeconds = 150
    /// From a Close frame of ours to the end.
    package var closeMilliseconds = 1_000

    package init() {}
}

/// How the WebSocket of a client ends whose session another gateway has.
enum RelayEnd {
    /// The client or the other gateway has ended the WebSocket, or has left.
    case inOrder
    /// The other gateway's connection broke; the text is for the log.
    case lost(String)
    /// By order of this gateway.
    case closed
}
