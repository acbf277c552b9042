/// What the internal listener serves with on one reactor: all from one reload, and immutable. It is asked for whenever
/// a part is needed.
package final class InternalService {
    let handler: any InternalHandler
    /// Nil without TLS.
    let material: TLSMaterial?

    package init(_ handler: any InternalHandler, material: TLSMaterial?) {
        (self.handler, self.material) = (handler, material)
    }
}

/// Where one reactor finds its ``InternalService``. On its thread only.
package final class InternalPlace {
    private let inEffect: () -> InternalService

    package init(_ service: @escaping () -> InternalService) { inEffect = service }

    var service: InternalService { inEffect() }
    var handler: any InternalHandler { service.handler }
}
