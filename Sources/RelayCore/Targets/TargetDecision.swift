/// What becomes of a ``TargetRequest``.
package enum TargetDecision: Hashable, Sendable {
    case authorized(AuthorizedTarget)
    case refused(TargetRefusal)
}

/// A target that a client may be connected to. Only ``TargetPolicy`` makes one.
package struct AuthorizedTarget: Hashable, Sendable {
    package let host: TargetHost
    package let port: UInt16
    /// A client chose the host, and no entry of the operator's is it.
    package let isClientsChoice: Bool
    /// Nothing but the public internet is open to what a client chose: see ``mayDial(_:)``.
    package var mustBePublic: Bool { isClientsChoice }
    /// The name of the route, for logs; `nil` for the default target and for addresses.
    package let route: String?
    package let options: RouteOptions

    init(
        _ endpoint: TargetEndpoint, isClientsChoice: Bool = false, route: String? = nil,
        options: RouteOptions = RouteOptions()
    ) {
        host = endpoint.host
        port = endpoint.port
        self.isClientsChoice = isClientsChoice
        self.route = route
        self.options = options
    }

    /// Whether this one of the addresses that ``host`` resolved to may be dialled. Ask for each of them, once resolved, and dial that
    /// very address: a second lookup may give another answer.
    ///
    /// - Parameter address: 4 or 16 bytes in network order.
    package func mayDial(_ address: [UInt8]) -> Bool { !mustBePublic || !ReservedNetworks.contain(address) }
}

/// Why a client isn't connected. For the log: every client is told the same, whatever there is and whatever there isn't.
package enum TargetRefusal: String, Hashable, Sendable, CaseIterable {
    case noDefaultTarget = "there is no default target"
    case unknownRoute = "no route has this name"
    case malformedHost = "the host is malformed"
    case notListed = "the target is not in TARGET_ALLOWLIST"
    case portNotListed = "the port is not in TARGET_PORTS"
    case reservedAddress = "the address is in a reserved network"
    case wayNotAllowed = "the route is closed to this way of admission"

    /// What the client is told.
    package static let message = "Target not allowed"
}
