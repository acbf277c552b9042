/// Where a client asks to be connected to, in the words of whichever dialect it speaks. ``TargetPolicy`` decides what becomes of it.
package enum TargetRequest: Hashable, Sendable {
    /// Wherever the gateway leads by default.
    case standard
    /// A route of the operator's, by its name.
    case route(String)
    /// As the client wrote it: nothing about the host has been checked.
    case address(host: String, port: UInt16)

    /// For logs, which escape and bound it: what the client has written is in it as it is.
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
