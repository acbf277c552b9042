/// `TARGET_MODE`: what clients may be connected to beside the operator's default target and routes.
package enum TargetMode: String, Hashable, Sendable, CaseIterable {
    case fixed
    case allowlist
    case arbitrary
}

/// What the operator says of targets.
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

    /// Combinations under which the gateway doesn't start.
    fileprivate var faults: [TargetFault] {
        var faults: [TargetFault] = []
        if mode == .allowlist && allowed.isEmpty { faults.append(.allowlistEmpty) }
        if mode == .fixed && !allowed.isEmpty { faults.append(.allowlistUnused) }
        if mode == .arbitrary && ports.isEmpty { faults.append(.portsEmpty) }
        if mode != .arbitrary && !ports.isEmpty { faults.append(.portsUnused) }
        if mode == .arbitrary && !requiresCredentials { faults.append(.arbitraryWithoutCredentials) }
        return faults + routes.filter(isOpenByPort).map { .routeOpenByPort($0.name) }
    }

    /// What a route's host is, other names say too, and the policy knows it by its own name alone. An address that clients can't reach
    /// by any name is none of these.
    private func isOpenByPort(_ route: Route) -> Bool {
        guard mode == .arbitrary, let admit = route.options.admit, admit != .any else { return false }
        if case .address(let address) = route.endpoint.host, ReservedNetworks.contain(address.bytes) { return false }
        return isClientsPort(route.endpoint.port)
    }

    fileprivate func isClientsPort(_ port: UInt16) -> Bool { ports.contains { $0.contains(port) } }
}

/// The one place that decides what a client is connected to, for every dialect.
///
/// What the operator has named is the operator's own: the default target, the routes and the entries of `TARGET_ALLOWLIST` may lie
/// anywhere. An address that is one of them is that one, however it is written. Beyond them:
///
/// | mode | a host and port of the client's |
/// |---|---|
/// | `fixed` | lead to the default target, whatever they are. Clients of mud-web-proxy always send some |
/// | `allowlist` | are refused |
/// | `arbitrary` | are dialled, if the port is in `TARGET_PORTS` and the address is public once it is resolved |
package struct TargetPolicy: Sendable, Equatable {
    private let settings: TargetSettings
    private let routes: [String: Route]
    /// Of several routes to one target the first.
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

    /// - Parameter method: by which the client was admitted, as routes name it.
    package func authorize(_ request: TargetRequest, for method: String) -> TargetDecision {
        switch decide(request) {
        case .authorized(let target) where target.options.admit?.allows(method) == false: .refused(.wayNotAllowed)
        case let decision: decision
        }
    }

    /// The methods of admission that lead to a target, to be known before credentials are used up; `nil`: all, or there is no such
    /// target, which only a client that is admitted learns, from ``authorize(_:for:)``.
    package func methods(to request: TargetRequest) -> Set<String>? {
        guard case .authorized(let target) = decide(request) else { return nil }
        return target.options.admit?.methods
    }

    /// What the route that is asked for says of compression, which is agreed in the 101; `nil`: nothing, or it is no route.
    package func compression(to request: TargetRequest) -> ClientCompression? {
        guard case .authorized(let target) = decide(request) else { return nil }
        return target.options.compression
    }

    private func decide(_ request: TargetRequest) -> TargetDecision {
        switch request {
        case .standard: return standard
        case .route(let name):
            guard let route = routes[name] else { return .refused(.unknownRoute) }
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
