/// A set of label values that is fixed when the gateway is compiled. Metrics take labels from nothing else: a label
/// that a client could choose would let it fill the memory of whoever stores the series.
package protocol MetricLabel: CaseIterable, Hashable, Sendable, RawRepresentable<String> {}

/// By which way a client came to the gate.
package enum GateWay: String, MetricLabel {
    case appAttest = "app_attest"
    case debugCertificate = "debug_certificate"
    /// A ticket, whoever's it is: who has got it stands beside it.
    case ticket
    /// The token of a session that began with a ticket.
    case sessionToken = "session_token"
    case anonymous
    /// It brought no credentials, or was refused before they were looked at.
    case none
}

package enum GateOutcome: String, MetricLabel {
    case admitted, refused
}

/// Why a connection was closed before TLS.
package enum ConnectionRefusal: String, MetricLabel {
    case total, perAddress = "per_address", handshakeRate = "handshake_rate", draining
}

package enum ByteDirection: String, MetricLabel {
    case fromClient = "from_client"
    case toClient = "to_client"
}

/// The reason label where there is none to give.
package enum NoReason: String, MetricLabel {
    case none
}
