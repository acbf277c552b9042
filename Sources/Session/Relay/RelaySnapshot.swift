package import Reactors

/// What the engine serves with: all from one reload, and immutable. Each reactor makes its ``ReactorSnapshot`` of it.
package struct RelaySnapshot: Sendable {
    package let relay: RelaySettings
    /// Toward clients; nil before the engine listens.
    package let clients: EdgePart?
    /// Toward other gateways of the fleet; nil: the engine doesn't listen for them.
    package let gateways: EdgePart?
    /// Of the internal listener; nil: without TLS.
    package let internalMaterial: TLSMaterial?

    package init(
        _ relay: RelaySettings, clients: EdgePart? = nil, gateways: EdgePart? = nil,
        internalMaterial: TLSMaterial? = nil
    ) {
        (self.relay, self.clients, self.gateways) = (relay, clients, gateways)
        self.internalMaterial = internalMaterial
    }

    /// The same, for one more listener.
    func adding(
        clients: EdgePart? = nil, gateways: EdgePart? = nil, internalMaterial: TLSMaterial? = nil
    ) -> RelaySnapshot {
        RelaySnapshot(
            relay, clients: clients ?? self.clients, gateways: gateways ?? self.gateways,
            internalMaterial: internalMaterial ?? self.internalMaterial)
    }

    /// What follows `old`: listeners stay until a restart, and those of which the settings say nothing keep what they
    /// have.
    ///
    /// - Parameter mustBeLimited: other machines reach the internal listener, or its settings demand a limit.
    func following(_ old: RelaySnapshot, mustBeLimited: Bool) -> RelaySnapshot {
        var relay = relay
        relay.fleetRelay = relay.fleetRelay ?? old.relay.fleetRelay
        relay.internalAccess = relay.internalAccess.replacing(old.relay.internalAccess, mustBeLimited: mustBeLimited)
        return RelaySnapshot(
            relay, clients: clients?.sharing(old.clients) ?? old.clients,
            gateways: gateways?.sharing(old.gateways) ?? old.gateways,
            internalMaterial: internalMaterial ?? old.internalMaterial)
    }
}
