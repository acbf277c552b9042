import WireText

/// `TARGET_MODE`: the targets allowed to clients in addition to the operator's default target and routes.
package enum TargetMode: String, Hashable, Sendable, CaseIterable {
    case fixed
    case allowlist
    case arbitrary
}

/// The operator's target settings.
package struct TargetSettings: Sendable, Equatable {
    package var mode: TargetMode
    /// The default target.
    package var standard: TargetEndpoint?
    package var routes: [Route]
    /// `TARGET_ALLOWLIST`.
    package var allowed: [TargetEndpoint]
    /// `TARGET_PORTS`.
    package var ports: [ClosedRange<UInt16>]
    /// `REQUIRE_APP_AUTH`.
    package var requiresCredentials: Bool

    package init(
        mode: TargetMode = .fixed, standard: TargetEndpoint?, routes: [Route] = [], allowed: [TargetEndpoint] = [],
        ports: [ClosedRange<UInt16>] = [], requiresCredentials: Bool = true
    ) {
        self.mode = mode
        self.standard = standard
        self.routes = routes
        self.allowed = allowed
        self.ports = ports
        self.requiresCredentials = requiresCredentials
    }

    /// Combinations of settings with which the gateway refuses to start.
    fileprivate var faults: [TargetFault] {
        var faults: [TargetFault] = []
        if mode == .allowlist && allowed.isEmpty { faults.append(.allowlistEmpty) }
        if mode == .fixed && !allowed.isEmpty { faults.append(.allowlistUnused) }
        if mode == .arbitrary && ports.isEmpty { faults.append(.portsEmpty) }
        if mode != .arbitrary && !ports.isEmpty { faults.append(.portsUnused) }
        if mode == .arbitrary && !requiresCredentials { faults.append(.arbitraryWithoutCredentials) }
        return faults + routes.filter(isOpenByPort).map { .routeOpenByPort($0.name) }
    }

    /// Whether clients can bypass the route's `admit` by naming its host and port: other names may resolve to the same
    /// host, and the policy recognises only the name it was given. Addresses that clients can't reach by any name are
    /// not affected.
    private func isOpenByPort(_ route: Route) -> Bool {
        guard mode == .arbitrary, let admit = route.options.admit, admit != .any else { return false }
        if case .address(let address) = route.endpoint.host, ReservedNetworks.contain(address.bytes) { return false }
        return isClientsPort(route.endpoint.port)
    }

    fileprivate func isClientsPort(_ port: UInt16) -> Bool { ports.contains { $0.contains(port) } }
}

/// The single place that decides to which target a client connects, for every dialect.
///
/// The default target, the routes and the entries of `TARGET_ALLOWLIST` are the operator's choice and may be at any
/// address. A client's address that equals one of them is treated as that target, however it is written. For all other
/// addresses:
///
/// | mode | host and port from the client |
/// |---|---|
/// | `fixed` | are ignored; the default target is used. Clients of mud-web-proxy always send some |
/// | `allowlist` | are refused |
/// | `arbitrary` | are dialled if the port is in `TARGET_PORTS` and the resolved address is public |
package struct TargetPolicy: Sendable, Equatable {
    private let settings: TargetSettings
    private let routes: [String: Route]
    /// If several routes have the same target, the first one.
    private let routesByTarget: [TargetEndpoint: Route]
    private let allowed: Set<TargetEndpoint>

    package init(_ settings: TargetSettings) throws(TargetFaults) {
        let faults = settings.faults
        guard faults.isEmpty else { throw TargetFaults(entries: faults.map { .init(number: nil, fault: $0) }) }
        self.settings = settings
        routes = Dictionary(settings.routes.map { ($0.name, $0) }) { first, _ in first }
        routesByTarget = Dictionary(settings.routes.map { ($0.endpoint, $0) }) { first, _ in first }
        allowed = Set(settings.allowed)
    }

    /// - Parameter method: the client's admission method, by the name that routes use.
    package func authorize(_ request: TargetRequest, for method: String) -> TargetDecision {
        decide(request).admitting(method)
    }

    /// The decision about every client that the target's route admits. Only an admitted client learns of a refusal.
    package func decide(_ request: TargetRequest) -> TargetDecision {
        switch request {
        case .standard: return standard
        case .route(let name):
            guard Route.isName(name), let route = routes[name] else { return .refused(.unknownRoute) }
            return .authorized(route)
        case .address(let host, let port):
            guard let host = TargetHost(host), port > 0 else {
                return settings.mode == .fixed ? standard : .refused(.malformedHost)
            }
            return decide(TargetEndpoint(host: host, port: port))
        }
    }

    private func decide(_ target: TargetEndpoint) -> TargetDecision {
        if target == settings.standard { return standard }
        if let route = routesByTarget[target] { return .authorized(route) }
        if allowed.contains(target) { return .authorized(AuthorizedTarget(target)) }
        switch settings.mode {
        case .fixed: return standard
        case .allowlist: return .refused(.notListed)
        case .arbitrary: return decidePublic(target)
        }
    }

    private func decidePublic(_ target: TargetEndpoint) -> TargetDecision {
        guard settings.isClientsPort(target.port) else { return .refused(.portNotListed) }
        if case .address(let address) = target.host, ReservedNetworks.contain(address.bytes) {
            return .refused(.reservedAddress)
        }
        return .authorized(AuthorizedTarget(target, isClientsChoice: true))
    }

    private var standard: TargetDecision {
        settings.standard.map { .authorized(AuthorizedTarget($0)) } ?? .refused(.noDefaultTarget)
    }
}

extension TargetDecision {
    fileprivate static func authorized(_ route: Route) -> TargetDecision {
        .authorized(AuthorizedTarget(route.endpoint, route: route.name, options: route.options))
    }
}
