import WireText

/// The decision about a ``TargetRequest``.
package enum TargetDecision: Hashable, Sendable {
    case authorized(AuthorizedTarget)
    case refused(TargetRefusal)
}

/// A target to which a client may connect. Only ``TargetPolicy`` creates one; a session that goes on in another process
/// has that of its beginning.
package struct AuthorizedTarget: Codable, Hashable, Sendable {
    package let host: TargetHost
    package let port: UInt16
    /// A client chose the host, and it matches none of the operator's entries.
    package let isClientsChoice: Bool
    /// A target that a client chose must be on the public internet: see ``mayDial(_:)``.
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

    /// Whether this address, to which ``host`` resolved, may be dialled. Check each resolved address and dial exactly
    /// that address: a second lookup may return another one.
    ///
    /// - Parameter address: 4 or 16 bytes in network order.
    package func mayDial(_ address: [UInt8]) -> Bool { !mustBePublic || !ReservedNetworks.contain(address) }
}

extension TargetDecision {
    /// The admission methods that give access to the target, needed before credentials are consumed; `nil`: all
    /// methods, or there is no such target.
    package var methods: Set<String>? { options?.admit?.methods }

    /// The compression setting of the requested route, needed for the 101 response; `nil`: it sets none, or the target
    /// isn't a route.
    package var compression: ClientCompression? { options?.compression }

    private var options: RouteOptions? {
        if case .authorized(let target) = self { target.options } else { nil }
    }

    /// The same for a client of this admission method, by the name that routes use.
    package func admitting(_ method: String) -> TargetDecision {
        options?.admit?.allows(method) == false ? .refused(.wayNotAllowed) : self
    }

    /// The same for a client that may use only these routes; nil: all.
    package func limited(to routes: Set<String>?) -> TargetDecision {
        guard let routes, case .authorized(let target) = self else { return self }
        return target.route.map(routes.containsBytes) == true ? self : .refused(.wayNotAllowed)
    }
}

/// Why a client isn't connected. For the log only: every client gets the same message, so that it can't learn which
/// targets exist.
package enum TargetRefusal: String, Hashable, Sendable, CaseIterable {
    case noDefaultTarget = "there is no default target"
    case unknownRoute = "no route has this name"
    case malformedHost = "the host is malformed"
    case notListed = "the target is not in TARGET_ALLOWLIST"
    case portNotListed = "the port is not in TARGET_PORTS"
    case reservedAddress = "the address is in a reserved network"
    case wayNotAllowed = "the route doesn't allow this admission method"

    /// The message to the client.
    package static let message = "Target not allowed"
}

/// The target that a client requests, in the form of its dialect. ``TargetPolicy`` decides about it.
package enum TargetRequest: Sendable {
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

// The texts are a client's.
extension TargetRequest: Equatable {
    package static func == (one: TargetRequest, other: TargetRequest) -> Bool {
        switch (one, other) {
        case (.standard, .standard): true
        case (.route(let one), .route(let other)): one.hasSameBytes(as: other)
        case (.address(let one, let port), .address(let other, let otherPort)):
            one.hasSameBytes(as: other) && port == otherPort
        default: false
        }
    }
}
