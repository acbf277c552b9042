/// How connections are served, and with which certificate. Made from one configuration, for all reactors.
package struct EdgePart: Sendable {
    package let settings: EdgeSettings
    /// Made from `settings.tls`; nil without TLS.
    package let material: TLSMaterial?

    package init(_ settings: EdgeSettings, material: TLSMaterial?) {
        (self.settings, self.material) = (settings, material)
    }

    /// With the material of before if there is no other, or if it has the same files: connections keep the certificates
    /// and revocation lists that they began with, and unchanged files are in memory only once.
    package func sharing(_ old: EdgePart?) -> EdgePart {
        guard let known = old?.material, material?.isSame(as: known) ?? true else { return self }
        return EdgePart(settings, material: known)
    }
}

/// What a listener serves with on its reactor: all from one reload, and immutable. A listener asks for it whenever it
/// needs a part, so what a reload has changed is in effect for the next connection and request.
///
/// Whether there is TLS, and what libwebsockets was given at the start, stays.
package final class EdgeService {
    let settings: EdgeSettings
    let material: TLSMaterial?
    let handler: any EdgeHandler

    package init(_ part: EdgePart, handler: any EdgeHandler) {
        (settings, material, self.handler) = (part.settings, part.material, handler)
    }
}
