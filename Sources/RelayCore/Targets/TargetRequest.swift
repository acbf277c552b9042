/// The target that a client requests, in the form of its dialect. ``TargetPolicy`` decides about it.
package enum TargetRequest: Hashable, Sendable {
    /// The gateway's default target.
    case standard
    /// One of the operator's routes, by name.
    case route(String)
    /// As the client wrote it: the host is unchecked.
    case address(host: String, port: UInt16)

    /// For logs, which escape and bound it: it contains the client's text unchanged.
    package var name: String {
        switch self {
        case .standard: "default"
        case .route(let name): name
        case .address(let host, let port): "\(host):\(port)"
        }
    }

    package var isRoute: Bool {
        if case .route = self { true } else { false }
    }
}
