@testable import Reactors

extension EdgeListener {
    /// One without reloads.
    convenience init(
        reactor: Reactor, settings: EdgeSettings, material: TLSMaterial? = nil, gateways: GatewayAccess? = nil,
        census: ConnectionCensus, handler: any EdgeHandler
    ) throws(ReactorError) {
        let made = material != nil ? material : try settings.makeMaterial()
        let service = EdgeService(EdgePart(settings, material: made), handler: handler)
        try self.init(reactor: reactor, gateways: gateways, census: census) { service }
    }
}
