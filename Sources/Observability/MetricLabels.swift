/// A type whose values are compile-time constants. All metric labels have such types: a client that could choose a label could fill the
/// memory of the system that stores the series.
package protocol MetricLabel: Hashable, Sendable {
    var rawValue: String { get }
}

package enum GateOutcome: String, MetricLabel, CaseIterable {
    case admitted, refused
}

/// Why a connection was closed before TLS.
package enum ConnectionRefusal: String, MetricLabel, CaseIterable {
    case total, perAddress = "per_address", handshakeRate = "handshake_rate", draining
}

package enum ByteDirection: String, MetricLabel, CaseIterable {
    case fromClient = "from_client"
    case toClient = "to_client"
}

/// The reason label if there is no reason.
package enum NoReason: String, MetricLabel, CaseIterable {
    case none
}
